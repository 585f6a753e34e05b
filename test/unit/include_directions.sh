#!/bin/sh
# Which folder may include which (contrib/doc/architecture.md): in server-glue a layer only itself and those below it, and
# nowhere two folders each other.
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
echo 1..5
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}
layers='
	function layer(path,   parts) {
		split(path, parts, "/")
		if (parts[2] == "core" || parts[2] == "guard" || parts[2] == "evidence") return 1
		if (parts[2] == "library") return 2
		if (parts[2] == "rm") return 3
		if (parts[2] == "tasks") return 4
		if (parts[2] == "step" || parts[2] == "session") return 5
		return parts[2] == "daemon" ? 7 : 6
	}'

upwards=$(grep -rnE '^#include "server-glue/' --include='*.cc' --include='*.h' server-glue |
	tr -d '"' | sed 's/:#include /:/' |
	awk -F: "$layers"' layer($3) > layer($1) { print $1 ":" $2 " includes " $3 }')
[ -z "$upwards" ]
status=$?
result $status 1 "no folder includes one above it"
[ $status = 0 ] || echo "$upwards" | sed 's/^/# /'

# common knows nobody; server-glue neither plugins nor tools; tools neither of these; what serves every RM, none.
outside=$(grep -rnE '^#include "(server-glue|plugins|tools|test)/' --include='*.cc' --include='*.h' common
	grep -rnE '^#include "(plugins|tools|test)/' --include='*.cc' --include='*.h' server-glue
	grep -rnE '^#include "(server-glue|plugins|test)/' --include='*.cc' --include='*.h' tools
	grep -rnE '^#include "plugins/(slurm|local|template)/' --include='*.cc' --include='*.h' plugins/kit
	grep -rnE '^#include "plugins/slurm/' --include='*.cc' --include='*.h' plugins/local plugins/template)
[ -z "$outside" ]
status=$?
result $status 2 "nobody knows of what is built on him, nor the kit of an RM"
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
# Only its plugin knows which RM it is, and its commands; of a launcher texts and comments may say srun, for example.
named=$(grep -rniE 'slurm|"srun"|scontrol|sattach|squeue|sacct|sbatch|salloc|scancel|\<sinfo\>' --include='*.cc' --include='*.h' --include='*.mk' common server-glue tools |
	grep -v '^common/config\.mk:') # the table of its options
[ -z "$named" ]
status=$?
result $status 4 "common, server-glue and tools name no resource manager"
[ $status = 0 ] || echo "$named" | sed 's/^/# /'

# A request of a process (..._ask.h) is plain data, which anybody may have.
loops=$(for top in common server-glue plugins tools; do
	grep -rE "^#include \"$top/[a-z_]+/" --include='*.cc' --include='*.h' "$top" | grep -vE '_asks?\.h"$' |
		sed -nE "s|^($top/[a-z_]+)/[^:]*:#include \"($top/[a-z_]+)/.*|\1 \2|p" | sort -u | tsort 2>&1 >/dev/null
done)
[ -z "$loops" ]
status=$?
result $status 5 "no two folders include each other, however many are between them"
[ $status = 0 ] || echo "$loops" | sed 's/^/# /'
