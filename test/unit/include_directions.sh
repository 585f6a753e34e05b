#!/bin/sh
# Which folder of server-glue may include which (contrib/doc/architecture.md): a layer only itself and those
# below it.
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
echo 1..4
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}
layers='
	function layer(path,   parts) {
		split(path, parts, "/")
		if (parts[2] == "core") return 1
		if (parts[2] == "library" || parts[2] == "rm") return 2
		if (parts[2] == "tasks") return 3
		if (parts[2] == "step") return 4
		return parts[2] == "daemon" ? 6 : 5
	}'

upwards=$(grep -rnE '^#include "server-glue/' --include='*.cc' --include='*.h' server-glue |
	grep -v '^server-glue/pmixhost_task\.cc' | tr -d '"' | sed 's/:#include /:/' |
	awk -F: "$layers"' layer($3) > layer($1) { print $1 ":" $2 " includes " $3 }')
[ -z "$upwards" ]
status=$?
result $status 1 "no folder includes one above it"
[ $status = 0 ] || echo "$upwards" | sed 's/^/# /'

# common knows nobody; server-glue neither plugins nor tools.
outside=$(grep -rnE '^#include "(server-glue|plugins|tools|test)/' --include='*.cc' --include='*.h' common
	grep -rnE '^#include "(plugins|tools|test)/' --include='*.cc' --include='*.h' server-glue)
[ -z "$outside" ]
status=$?
result $status 2 "common and server-glue know nothing of what is built on them"
[ $status = 0 ] || echo "$outside" | sed 's/^/# /'

# Code that decides is made of plain data: pmix_server.h stays at the boundary, whatever the way by which it would
# come. These may have it: library/, the translations of upcalls and their table; and, in its .cc alone, code that
# calls PmixLibrary: daemon/, tasks/, and what knows the step's surroundings (step/step_context.h), or is handed the
# library by one of these.
servers=$(grep -rE '^#include ["<](server-glue/|pmix_server\.h)' --include='*.cc' --include='*.h' server-glue |
	tr -d '"<>' | sed 's/:#include /:/' |
	awk -F: '
	{ from[NR] = $1; to[NR] = $2 }
	function spread(target, reached,   grown, i) { # who includes the target, directly or not
		reached[target] = 1
		do {
			grown = 0
			for (i = 1; i <= NR; ++i)
				if (to[i] in reached && !(from[i] in reached)) { reached[from[i]] = 1; grown = 1 }
		} while (grown)
	}
	END {
		spread("pmix_server.h", server)
		spread("server-glue/step/step_context.h", surroundings)
		delete server["pmix_server.h"]
		for (file in server) {
			if (file ~ /^server-glue\/(library\/|[a-z_]+\/[a-z_]+_upcall\.cc$|daemon\/module_table\.)/) continue
			if (file == "server-glue/indirect/debugger_server.cc") continue # the server of another program
			if (file ~ /^server-glue\/(daemon|tasks)\/.*\.cc$/ || file == "server-glue/cross_job/cross_job_registry.cc") continue
			if (file ~ /\.cc$/ && file in surroundings) continue
			print file
		}
		# by name only there, and in the interface of PmixLibrary
		for (i = 1; i <= NR; ++i)
			if (to[i] == "pmix_server.h" && from[i] !~ /^server-glue\/(library\/|daemon\/module_table\.h|indirect\/debugger_server\.cc)/)
				print from[i] " by name"
	}' | sort)
[ -z "$servers" ]
status=$?
result $status 3 "pmix_server.h stays at the boundary"
[ $status = 0 ] || echo "$servers" | sed 's/^/# /; s/$/ includes pmix_server.h/'
# Only its plugin knows which RM it is.
named=$(grep -rniE 'slurm' --include='*.cc' --include='*.h' --include='*.mk' common server-glue tools |
	grep -v '^common/config\.mk:') # the table of its options
[ -z "$named" ]
status=$?
result $status 4 "common, server-glue and tools name no resource manager"
[ $status = 0 ] || echo "$named" | sed 's/^/# /'
