#!/bin/sh
# Which folder of server-glue may include which (contrib/doc/architecture.md): a layer only itself and those
# below it.
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
echo 1..2
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

# Requests of capabilities stand in the upcalls, which fill them in.
upwards=$(grep -rnE '^#include "server-glue/' --include='*.cc' --include='*.h' server-glue |
	grep -vE '^server-glue/(library/upcalls|pmixhost_task\.cc)' | tr -d '"' | sed 's/:#include /:/' |
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
