#!/bin/bash
# Where and how a tool connects: each attribute and call of the standard's chapter on the connection of tools, with the
# servers of two jobs on one host.
. "$(dirname "$0")/../common/words.sh"

out=$test_dir/visited root=$test_dir/root
mkdir "$root"
chmod 1777 "$root"
: >"$out"
host=$(host_name 1) servers=/tmp
owner() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$@" 2>&1; }
(cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- env CLIENT_LIMIT=480 \
    salloc -Q -N1 -w "$host" --ntasks-per-node=4 bash -c \
    "for i in 1 2; do srun $mpi --overlap -N1 -n2 $clients/visited & done; wait") >"$out" 2>&1 </dev/null &
jobs=($!)
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
ok "two jobs run" until_true 60 said there 4
mapfile -t files < <(owner find "$servers" -maxdepth 2 -name "pmix.$host.tool" | sort)
is "each has a server" "${#files[@]}" 2
uri_a=$(owner head -n 1 "${files[0]}") uri_b=$(owner head -n 1 "${files[1]}")
a=${uri_a%.server.*} b=${uri_b%.server.*}
pid_a=$(owner sed -n 3p "${files[0]}")

# Without "within" it waits for 30 seconds.
tool() { owner env PMIX_SYSTEM_TMPDIR="$servers" "$clients/tool_connect" "$@"; }
# below DIRECTORY ...: a tool that looks there for servers
below() { owner env PMIX_SYSTEM_TMPDIR="$1" "$clients/tool_connect" "${@:2}"; }
# asked OUTPUT ...: the namespaces that it was told, in this order
asked() { sed -n 's/^namespace //p' <<<"$1" | tr '\n' ' '; }
listed() { sed -n 's/^server //p' <<<"$1" | tr '\n' ' '; }
took() { sed -nE "s/^$2: .*[ ,]([0-9]+) ms\$/\1/p" <<<"$1"; } # OUTPUT WHAT

# -------------------------------------------------------------------------------------------- its name

like "PMIX_TOOL_NSPACE and PMIX_TOOL_RANK: what it is called" "$(tool init nspace="$a" name=mine rank=3)" \
    '^init: PMIX_SUCCESS mine 3,'
like "a name without a rank is refused" "$(tool init nspace="$a" name=mine)" 'init: PMIX_ERR_BAD_PARAM'
like "as is a rank without a name" "$(tool init nspace="$a" rank=3)" 'init: PMIX_ERR_BAD_PARAM'
like "a tool without a name gets one" "$(tool init nspace="$a")" "^init: PMIX_SUCCESS $a\\.tool\\.0\\.[0-9]+ 0,"

# -------------------------------------------------------------------------------------- without a server

got=$(tool init unconnected=1 namespaces)
like "PMIX_TOOL_DO_NOT_CONNECT: a tool without a server" "$got" 'init: PMIX_SUCCESS.*finalize: PMIX_SUCCESS'
is "has nobody to ask" "$(asked "$got")" ""
is "PMIx_tool_get_servers: nor has it a server" "$(listed "$(tool init unconnected=1 servers)")" ""
got=$(tool within 12 init unconnected=1 attach nspace="$b" primary=1 namespaces)
is "until it attaches to one" "$(asked "$got")" "$b "
like "one that is not its primary server is not asked, and it is told so" \
    "$(tool within 3 init unconnected=1 attach nspace="$b" namespaces)" 'namespaces: PMIX_ERR'
like "under the name that it has then" "$(tool within 12 init unconnected=1 name=mine rank=2 attach nspace="$b" primary=1 namespaces)" \
    "attach: PMIX_SUCCESS $b.server 0,.*namespace $b"
like "PMIX_TOOL_CONNECT_OPTIONAL: with a server" "$(tool init nspace="$a" optional=1 namespaces)" "namespace $a"
like "PMIX_TOOL_CONNECT_OPTIONAL: without one" "$(tool within 3 init nspace=nobody optional=1)" \
    'init: PMIX_SUCCESS.*finalize: PMIX_SUCCESS'
like "PMIX_TOOL_CONNECT_OPTIONAL: without the file that is named" "$(tool within 3 init attach="$root/none" optional=1)" \
    'init: PMIX_SUCCESS.*finalize: PMIX_SUCCESS'

# ------------------------------------------------------------------------------------- which server it is

is "PMIX_SERVER_NSPACE: of the job" "$(asked "$(tool init nspace="$a" namespaces)")" "$a "
is "PMIX_SERVER_NSPACE: of the server" "$(asked "$(tool init nspace="$b.server" namespaces)")" "$b "
like "PMIX_SERVER_NSPACE: of none" "$(tool init nspace=nobody)" 'init: PMIX_ERR_(UNREACH|NOT_FOUND)'
is "PMIX_SERVER_PIDINFO" "$(asked "$(tool init pid="$pid_a" namespaces)")" "$a "
like "PMIX_SERVER_PIDINFO: of none" "$(tool init pid=99999999)" 'init: PMIX_ERR_(UNREACH|NOT_FOUND)'
# Names that begin alike: those of our servers do not, those of jobs and processes may (decisions/tools.md).
alike=$test_dir/alike
mkdir -m 755 "$alike"
for name in slurm.9.1.server slurm.9.1 12; do owner cat "${files[0]}" >"$alike/pmix.$host.tool.$name"; done
for name in slurm.9.10.server slurm.9.10 123; do owner cat "${files[1]}" >"$alike/pmix.$host.tool.$name"; done
is "PMIX_SERVER_NSPACE: of a server, beside one whose name begins alike" "$(asked "$(below "$alike" init nspace=slurm.9.1.server namespaces)")" "$a "
is "PMIX_SERVER_NSPACE: of a job likewise" "$(asked "$(below "$alike" init nspace=slurm.9.1 namespaces)")" "$a "
is "PMIX_SERVER_PIDINFO: of a process likewise" "$(asked "$(below "$alike" init pid=12 namespaces)")" "$a "
is "PMIX_TOOL_ATTACHMENT_FILE" "$(asked "$(tool init attach="${files[1]}" namespaces)")" "$b "
like "PMIX_TOOL_ATTACHMENT_FILE: that is not there" "$(tool init attach="$root/none")" 'init: PMIX_ERR_UNREACH'
is "PMIX_SERVER_URI" "$(asked "$(tool init uri="$uri_a" namespaces)")" "$a "
is "PMIX_SERVER_URI: file:" "$(asked "$(tool init uri="file:${files[0]}" namespaces)")" "$a "
is "PMIX_SERVER_URI: what the server is called" "$(listed "$(tool init uri="$uri_a" servers)")" "$a.server 0 "
is "PMIX_SERVER_URI: file: what the server is called" "$(listed "$(tool init uri="file:${files[0]}" servers)")" "$a.server 0 "
is "PMIX_TCP_URI" "$(asked "$(tool init tcp="$uri_b" namespaces)")" "$b "
like "PMIX_TCP_URI and PMIX_SERVER_URI at once are an error" "$(tool init uri="$uri_a" tcp="$uri_b")" '^init: PMIX_ERR_'
like "a tool that searches does not choose between two" "$(tool init)" 'init: PMIX_ERR_UNREACH'

like "PMIX_CONNECT_TO_SYSTEM: there is none" "$(tool init system=1)" 'init: PMIX_ERR_UNREACH'
is "PMIX_CONNECT_SYSTEM_FIRST: there is none, so the next" "$(asked "$(tool init first=1 nspace="$a" namespaces)")" "$a "
owner cp "${files[0]}" "$root/pmix.sys.$host"
owner cp "${files[1]}" "$root/pmix.$host.tool.$b"
is "PMIX_CONNECT_TO_SYSTEM: what the system's file says" "$(asked "$(below "$root" init system=1 namespaces)")" "$a "
is "PMIX_CONNECT_SYSTEM_FIRST: what the system's file says" \
    "$(asked "$(below "$root" init first=1 nspace="$b" namespaces)")" "$a "
is "without them the system's file is no server" "$(asked "$(below "$root" init namespaces)")" "$b "

# --------------------------------------------------------------------------------------------- retries

got=$(tool init attach="$root/none" retries=2 delay=1)
ms=$(took "$got" init)
ok "PMIX_CONNECT_MAX_RETRIES and PMIX_CONNECT_RETRY_DELAY: twice in two seconds" \
    eval '[[ $got == *PMIX_ERR_UNREACH* ]] && ((ms >= 1900 && ms < 20000))'
like "PMIX_CONNECT_MAX_RETRIES: a file that comes meanwhile" \
    "$(tool later "${files[0]}" "${files[0]%/*}/late" init attach="${files[0]%/*}/late" retries=1000)" '^init: PMIX_SUCCESS'

# --------------------------------------------------------------------- several servers, and changing between them

# late NAME WHAT ...: begins a tool that says what it has to say and is then ended: libpmix 4.2.2 does not finalize one that
# has changed its primary server. All of them at once; what each said is in the file late.NAME.
late=()
late() {
    tool within 25 "${@:2}" >"$test_dir/late.$1" &
    late+=($!)
}
late second init nspace="$a" attach nspace="$b" primary=1 namespaces
late process init nspace="$b" attach pid="$pid_a" primary=1 namespaces
late file init nspace="$b" attach attach="${files[0]}" primary=1 namespaces
late uri init nspace="$b" attach uri="$uri_a" primary=1 namespaces
late once init uri="$uri_a" attach nspace="$b" primary=1 namespaces
late missing init nspace="$a" attach attach="$root/none" namespaces
wait "${late[@]}"

got=$(tool init nspace="$a" attach nspace="$b" servers namespaces)
is "PMIx_tool_attach_to_server: PMIx_tool_get_servers names both, the primary one first" "$(listed "$got")" \
    "$a.server 0 $b.server 0 "
is "the first one answers still" "$(asked "$got")" "$a "
like "the tool keeps its name" "$got" "attach: PMIX_SUCCESS $b.server 0,"
is "PMIX_PRIMARY_SERVER: the second one answers" \
    "$(asked "$(<"$test_dir/late.second")")" "$b "
got=$(tool init nspace="$a" attach nspace="$b" set "$b.server" 0 servers namespaces set "$a.server" 0 namespaces)
is "PMIx_tool_set_server: whom it asks" "$(asked "$got")" "$b $a "
is "and who is listed first" "$(listed "$got")" "$b.server 0 $a.server 0 "
like "PMIx_tool_set_server: of one that it is not attached to" "$(tool init nspace="$a" set "$b.server" 0)" \
    'set: PMIX_ERR_UNREACH'
got=$(tool init nspace="$a" set "$b.server" 0 wait=1 timeout=1)
ms=$(took "$got" set)
ok "PMIX_WAIT_FOR_CONNECTION: PMIX_TIMEOUT is kept" eval '[[ $got == *set:\ PMIX_ERR* ]] && ((ms >= 900 && ms < 20000))'
is "PMIX_WAIT_FOR_CONNECTION: until it is attached" \
    "$(asked "$(tool init nspace="$a" join "$b" set "$b.server" 0 wait=1 timeout=20 namespaces)")" "$b "
what="PMIX_WAIT_FOR_CONNECTION: without a time it waits until it is attached"
like "$what" "$(tool within "$(patience "$what" 30)" init nspace="$a" join "$b" set "$b.server" 0 wait=1 namespaces)" "namespace $b"
got=$(tool init nspace="$a" attach nspace="$b" disconnect "$b.server" 0 servers namespaces)
is "PMIx_tool_disconnect: one is left" "$(listed "$got")" "$a.server 0 "
is "which is asked" "$(asked "$got")" "$a "
like "PMIx_tool_disconnect: of one that it is not attached to" "$(tool init nspace="$a" disconnect nobody 0)" \
    'disconnect: PMIX_ERR_NOT_FOUND'
is "PMIx_tool_disconnect: the connection is closed" \
    "$(tool init nspace="$b" attach nspace="$a" disconnect "$a.server" 0 connections | grep '^conn')" "connections 1"
is "PMIx_tool_disconnect: of the one that PMIx_tool_init has found, too" \
    "$(tool within 12 init nspace="$b" attach nspace="$a" primary=1 disconnect "$b.server" 0 connections | grep '^conn')" \
    "connections 1"
is "a tool with a name of its own comes again" "$(asked "$(tool within 12 init nspace="$a" name=returns rank=0 \
    attach nspace="$b" primary=1 disconnect "$a.server" 0 attach nspace="$a" primary=1 namespaces)")" "$a "
is "as does one that was given its name here" "$(asked "$(tool within 12 init nspace="$a" \
    attach nspace="$b" primary=1 disconnect "$a.server" 0 attach nspace="$a" primary=1 namespaces)")" "$a "
is "and one that has finalized" "$(asked "$(tool within 12 init nspace="$a" finalize init nspace="$a" namespaces)")" "$a "
is "which goes to another server" "$(asked "$(tool within 12 init nspace="$a" finalize init nspace="$b" namespaces)")" "$b "
like "PMIx_tool_disconnect: of the primary one, and it ends" "$(tool within 12 init nspace="$a" disconnect "$a.server" 0)" \
    'disconnect: PMIX_SUCCESS.*finalize:'
like "PMIx_tool_attach_to_server: to nobody" "$(tool init nspace="$a" attach nspace=nobody namespaces)" \
    "attach: PMIX_ERR_(UNREACH|NOT_FOUND).*namespace $a"
is "PMIx_tool_attach_to_server: by its process" \
    "$(asked "$(<"$test_dir/late.process")")" "$a "
is "PMIx_tool_attach_to_server: by its file" \
    "$(asked "$(<"$test_dir/late.file")")" "$a "
is "PMIx_tool_attach_to_server: by its URI" \
    "$(asked "$(<"$test_dir/late.uri")")" "$a "
is "PMIx_tool_attach_to_server: a URI holds for one call" \
    "$(asked "$(<"$test_dir/late.once")")" "$b "
like "PMIx_tool_attach_to_server: a file that is not there" \
    "$(<"$test_dir/late.missing")" "attach: PMIX_ERR_UNREACH.*namespace $a"

many=()
for i in {1..20}; do
    CLIENT_LIMIT=55 tool init nspace="$a" attach nspace="$b" namespaces set "$b.server" 0 namespaces >"$test_dir/many.$i" &
    many+=($!)
done
wait "${many[@]}"
is "twenty tools at once, each at both" "$(cat "$test_dir"/many.* | grep '^namespace ' | sort | uniq -c | awk '{print $1}' | tr '\n' ' ')" \
    "20 20 "

# ---------------------------------------------------------------------------------------- as a launcher

like "PMIX_LAUNCHER_RENDEZVOUS_FILE: a launcher writes it" \
    "$(tool init nspace="$a" launcher=1 file="$root/launcher" look "$root/launcher")" '^init: PMIX_SUCCESS.*there'
like "PMIX_LAUNCHER_RENDEZVOUS_FILE: in the environment" "$(owner env PMIX_SYSTEM_TMPDIR="$servers" \
    PMIX_LAUNCHER_RENDEZVOUS_FILE="$root/other" "$clients/tool_connect" init nspace="$a" launcher=1 look "$root/other")" \
    '^init: PMIX_SUCCESS.*there'

# ------------------------------------------------------------------------------------------------- end

for nspace in "$a" "$b"; do
    owner env PMIX_SYSTEM_TMPDIR="$servers" "$clients/tool" nspace "$nspace" notify 7202 "$nspace" >/dev/null
done
wait "${jobs[@]}"
is "both jobs end well" "$(grep -c '^ok' "$out")" 4
job 1 2 "$clients/tool_connect" init servers namespaces
ok "a process of a job is a tool, too" eval '((status == 0 && $(grep -c "^namespaces: PMIX_SUCCESS" <<<"$output") == 2))'
done_testing
