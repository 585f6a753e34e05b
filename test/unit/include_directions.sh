#!/bin/sh
# Which folder may include which (contrib/doc/architecture.md): in server-glue and in plugins/slurm a layer only itself
# and those below it, and nowhere two folders each other; and where libraries may be known.
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
echo 1..7
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}
look() { grep --include='*.cc' --include='*.h' --include='*.c' "$@"; }
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

upwards=$(look -rnE '^#include "server-glue/' server-glue |
	tr -d '"' | sed 's/:#include /:/' |
	awk -F: "$layers"' layer($3) > layer($1) { print $1 ":" $2 " includes " $3 }'
	# What the processes of Slurm load (shim), what pmixhostd loads (backend) and what looks at a site (check) do not know
	# each other.
	look -rnE '^#include "plugins/slurm/[a-z]+/' plugins/slurm | tr -d '"' | sed 's/:#include /:/' |
		awk -F: '
		function folder(path,   parts) { split(path, parts, "/"); return parts[3] }
		function layer(name) { return name == "base" ? 1 : name == "steps" ? 2 : 3 }
		folder($1) != folder($3) && layer(folder($3)) >= layer(folder($1)) { print $1 ":" $2 " includes " $3 }')
[ -z "$upwards" ]
status=$?
result $status 1 "no folder includes one above it"
[ $status = 0 ] || echo "$upwards" | sed 's/^/# /'

# common knows nobody; server-glue neither plugins nor tools; tools neither of these; what serves every RM, none. What a
# plugin has of server-glue is the contract of backends alone, with the types of core that it hands over.
outside=$(look -rnE '^#include "(server-glue|plugins|tools|test)/' common
	look -rnE '^#include "(plugins|tools|test)/' server-glue
	look -rnE '^#include "(server-glue|plugins|test)/' tools
	look -rnE '^#include "plugins/(slurm|local|template)/' plugins/kit
	look -rnE '^#include "plugins/slurm/' plugins/local plugins/template
	look -rnE '^#include "(server-glue|tools|test)/' plugins | grep -vE '"server-glue/(rm/[a-z_]+|core/(central_roles|task_descriptors))\.h"')
[ -z "$outside" ]
status=$?
result $status 2 "nobody knows of what is built on him, nor the kit of an RM"
[ $status = 0 ] || echo "$outside" | sed 's/^/# /'

# Code that decides is made of plain data: pmix_server.h stays at the boundary, whatever the way by which it would
# come. These may have it: library/, the translations of upcalls and their table; and, in its .cc alone, code that
# calls PmixLibrary: daemon/, tasks/, and what knows the step's surroundings (step/step_context.h), or is handed the
# library by one of these.
servers=$(look -rE '^#include ["<](server-glue/|pmix_server\.h)' server-glue |
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
named=$(look -rniE 'slurm|"srun"|scontrol|sattach|squeue|sacct|sbatch|salloc|scancel|\<sinfo\>' --include='*.mk' common server-glue tools |
	grep -v '^common/config\.mk:') # the table of its options
[ -z "$named" ]
status=$?
result $status 4 "common, server-glue and tools name no resource manager"
[ $status = 0 ] || echo "$named" | sed 's/^/# /'

# In DIRECTORY, pairs as tsort tells them.
loops_in() { # DIRECTORY
	(
		cd "$1" || exit
		# shellcheck disable=SC2069 # what it complains of alone
		look -rE '^#include "(common|server-glue|plugins|tools)/' common server-glue plugins tools |
			sed -nE 's|^(.*)/[^/:]*:#include "([^"]*)/[^/"]*".*|\1 \2|p' | sort -u | tsort 2>&1 >/dev/null
	)
}
loops=$(loops_in .)
[ -z "$loops" ]
status=$?
result $status 5 "no two folders include each other, however many are between them"
[ $status = 0 ] || echo "$loops" | sed 's/^/# /'

# This one knows how deep the folders are: two of one plugin, one of them by way of a third.
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/common" "$tree/server-glue" "$tree/tools" "$tree/plugins/one/high" "$tree/plugins/one/middle" \
	"$tree/plugins/one/low"
echo '#include "plugins/one/middle/b.h"' >"$tree/plugins/one/high/a.h"
echo '#include "plugins/one/low/c.h"' >"$tree/plugins/one/middle/b.cc"
straight=$(loops_in "$tree")
echo '#include "plugins/one/high/a.h"' >"$tree/plugins/one/low/c.c"
[ -z "$straight" ] && loops_in "$tree" | grep -q 'plugins/one/low'
result $? 6 "folders within a plugin are told apart"

# Of the libraries that common has, each is one folder's.
libraries=$(look -rnE '^ *# *include <pmix' common plugins
	look -rnE '^ *# *include <event2/' common plugins | grep -v '^common/loop/'
	look -rnE '^ *# *include <(munge\.h|nettle/)' common | grep -v '^common/transport/'
	look -rnE '^ *# *include <hwloc' common | grep -v '^common/process/')
[ -z "$libraries" ]
status=$?
result $status 7 "common and plugins have no libpmix, and common a folder for each other library"
[ $status = 0 ] || echo "$libraries" | sed 's/^/# /'
