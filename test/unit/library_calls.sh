#!/bin/sh
# libpmix is called in the library thread alone (server-glue/library/library_thread.h), so no file but those of that
# layer calls what can wait for a lock of it. Elsewhere only a function is called that works on the caller's memory; what
# packs and unpacks does too, but has one place there (server-glue/library/pack.h).
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
echo 1..2
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}

# proxy_client.cc and what stands between a debugger and its launcher are processes of their own, and the command asks
# in processes of their own (tools/view/tool_process.h).
calls=$(grep -rnE 'PMIx_[A-Za-z_]+ *\(' --include='*.cc' --include='*.h' common plugins server-glue tools |
	awk -F: '$1 ~ /^server-glue\/library\/upcall/ || $1 !~ /^(server-glue\/(library\/|tasks\/proxy_client\.cc|indirect\/(debugger_server|job_tool)\.cc)|tools\/)/' |
	sed -E 's,//.*,,; s,"([^"\\]|\\.)*",,g' |
	grep -E 'PMIx_[A-Za-z_]+ *\(' |
	grep -vE 'PMIx_Error_string\b')
[ -z "$calls" ]
status=$?
result $status 1 "only the library layer calls libpmix"
[ $status = 0 ] || echo "$calls" | sed 's/^/# /'

# The callbacks that libpmix gives with an upcall are such calls too: each stands in what is handed over
# (that of lookup in a function that is called from there).
given=$(awk '
	FNR == 1 { depth = 0; inside = 0 }
	{ line = $0; sub(/\/\/.*/, "", line); gsub(/"([^"\\]|\\.)*"/, "", line) }
	line ~ /in_(library|progress|answering)_thread\(/ && !inside { inside = 1; base = depth }
	line ~ /[^_a-z]callback\(/ && !inside { print FILENAME ":" FNR ": " $0 }
	{
		opened = gsub(/[({]/, "", line); closed = gsub(/[)}]/, "", line)
		depth += opened - closed
		if (inside && depth <= base) inside = 0
	}' server-glue/library/upcalls.cc server-glue/*/*_upcall.cc |
	grep -v 'callback(status, out, count, data);')
[ -z "$given" ]
status=$?
result $status 2 "answers are given to libpmix in the library thread, or its own"
[ $status = 0 ] || echo "$given" | sed 's/^/# /'
