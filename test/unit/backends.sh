#!/bin/sh
# The backends of this build and their facets, as `pmixhost version` shows them.
top=${top_builddir:-.}
PMIXHOST_PMIXHOSTD=$top/server-glue/pmixhostd
export PMIXHOST_PMIXHOSTD
# All backends are loaded into one process here, and each has the one symbol that is looked for: no fault of theirs.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_odr_violation=0
export ASAN_OPTIONS
echo 1..4
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}
said=$("$top/tools/pmixhost" version)
result $? 1 "pmixhost version"
expect() { # NUMBER NAME FACETS
	echo "$said" | grep -q "^backend $2 *[^ ]*/backend_$2.so: $3\$"
	status=$?
	result $status "$1" "the facets of the backend $2"
	[ $status = 0 ] || echo "$said" | sed 's/^/# /'
}
expect 2 local "session, spawn, starter"
if [ -f "$top/plugins/slurm/.libs/backend_slurm.so" ]; then
	expect 3 slurm "questions, allocations, job-record, user-notes, session, spawn, output, session-door, starter, calls, job-list, owners, lobby"
else
	echo "ok 3 - the facets of the backend slurm # SKIP it was not built"
fi
# Not installed, and built for the tests only.
expect 4 template none
