#!/bin/bash
# PMIx tools at a job's daemons, on the hosts of the job: how they find them, what they may, and who is kept out.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

out=$test_dir/visited pmixhost=$PMIXHOST_BUILD/tools/pmixhost
: >"$out"
if [[ $backend == slurm ]]; then
    host=$(host_name 1) other=$(host_name 2) servers=/tmp temporary=/tmp
    owner() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$@" 2>&1; }
    stranger() { "${on_cluster[@]}" --user pmixuser2 --host "$host" -- timeout -k 5 60 "$@" 2>&1; }
    there() { on_host "$host" "$@"; }   # as who may look at its processes
    beyond() { on_host "$other" "$@"; } # the same on the other host
    tasks_there() { there pgrep -x visited; }
    tasks_beyond() { beyond pgrep -x visited; }
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- \
        srun "$mpi" -N2 -w "$host,$other" -n4 --ntasks-per-node=2 -m block "$clients/visited") >"$out" 2>&1 </dev/null &
else
    host=$(hostname -s) servers=$test_dir/servers temporary=$test_dir
    mkdir "$servers"
    export TMPDIR=$test_dir
    unset PMIX_SYSTEM_TMPDIR
    # Both servers are on this machine, and libpmix gives up where it finds two: tools look where one of them is.
    owner() { env PMIX_SYSTEM_TMPDIR="$directory" timeout -k 5 60 "$@" 2>&1; }
    there() { "$@"; }
    beyond() { "$@"; }
    tasks_there() { pgrep -P "$daemon" -x visited; }
    tasks_beyond() { pgrep -P "$distant" -x visited; }
    (cd "$test_dir" && exec timeout -k 5 500 "$PMIXHOST_RUN" run --tmpdir "$servers" --hosts 2 -n 4 "$clients/visited") \
        >"$out" 2>&1 </dev/null &
fi
job_pid=$!
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
ok "a job runs" until_true 30 said there 4
tool() { owner "$clients/tool" "$@"; }

# ------------------------------------------------------------------------- how a tool finds the job

# The directories of the job's servers, by the rank of these.
directories() {
    local file
    for file in $("$1" find "$servers" -maxdepth 2 -name "pmix.$2.tool"); do
        echo "$("$1" head -n 1 "$file" | sed 's/.*\.server\.//') ${file%/*}"
    done
}
mapfile -t found < <({ directories there "$host"; [[ $backend == local ]] || directories beyond "$other"; } | sort -u)
is "there are directories with rendezvous files" "${#found[@]}" 2
directory=${found[0]#* }
daemon=$(there sed -n 3p "$directory/pmix.$host.tool")
distant=$(beyond sh -c "sed -n 3p '${found[1]#* }'/pmix.*.tool")
user=$(owner id -un) ids=$(owner id -u):$(owner id -g)
is "only their user can read them" \
    "$(there find "$directory" -name 'pmix.*.tool*' -printf '%m %u\n' | sort -u)" "600 $user"
nspace=$(there find "$directory" -name 'pmix.*.tool.*.server' -printf '%f\n' |
    sed 's/^pmix\.[^.]*\.tool\.//; s/\.server$//')
like "one has the name of the job's namespace" "$nspace" "^$backend\\.[0-9]+\\.[0-9a-f]+\$"
text=$(there cat "$directory/pmix.$host.tool.$nspace")
like "its first line is the server's URI" "$(head -n 1 <<<"$text")" \
    "^$nspace\.server\.0;tcp4://127\.0\.0\.1:[0-9]+\$"
is "and the others are version, process and user" "$(sed -n '2{s/[0-9]*\.[0-9]*\.[0-9]*/version/;p}; 3,4p' <<<"$text")" \
    "version
$daemon
$ids"
like "a tool that searches finds the one job there is" "$(tool who namespaces)" "namespace $nspace"
like "by its namespace" "$(tool nspace "$nspace" who)" "^tool $nspace\.tool\.0\.[0-9]+ 0"
like "by the server's namespace" "$(tool nspace "$nspace.server" namespaces)" "namespace $nspace"
like "by the daemon's process" "$(tool pid "$daemon" namespaces)" "namespace $nspace"
like "by its file" "$(tool attach "$directory/pmix.$host.tool" namespaces)" "namespace $nspace"
like "by its URI" "$(tool uri "$(head -n 1 <<<"$text")" namespaces)" "namespace $nspace"
if [[ $backend == slurm ]]; then
    job_id=$(cut -d. -f2 <<<"$nspace") step=$(cut -d. -f2- <<<"$nspace")
    name=$host
    like "beside the job's tasks, as srun starts it" "$(owner srun --overlap --jobid="$job_id" -w "$host" -N1 -n1 --mpi=none \
        "$clients/tool" nspace "$nspace" who)" "^tool $nspace\\.tool\\.0\\.[0-9]+ 0"
else
    job_id=$nspace step=$nspace
    name=$(host_name 1)
fi

# ------------------------------------------------------------------------------- pmixhost with, servers

listed=$(owner "$pmixhost" servers)
like "pmixhost servers lists it" "$(sed -n 2p <<<"$listed")" "^$nspace +0 +$daemon +[0-9.]+ +[0-9T:-]+ +tcp4://127\\.0\\.0\\.1:[0-9]+\$"
like "as JSON too" "$(owner "$pmixhost" servers --json | tr -d ' \n')" \
    "^\\[\\{\"job\":\"$nspace\",.*\"pid\":$daemon,.*\\}\\]\$"
[[ $backend == local ]] || like "inside of a task of another step, too" \
    "$(owner srun "$mpi" --overlap --jobid="$job_id" -w "$host" -N1 -n1 "$pmixhost" servers | grep "^$nspace ")" "^$nspace +0 +$daemon "
ps=$(owner "$pmixhost" ps)
is "pmixhost ps lists the processes of all hosts" "$(awk -v job="$nspace" 'NR > 1 && $1 == job {print $2}' <<<"$ps" | tr '\n' ' ')" \
    "0 1 2 3 "
is "with their numbers" "$(awk -v host="$name" '$3 == host {print $4}' <<<"$ps" | sort -n | tr '\n' ' ')" \
    "$(tasks_there | sort -n | tr '\n' ' ')"
like "of one job, as JSON" "$(owner "$pmixhost" ps "$step" --json | tr -d ' \n')" \
    "^\\[\\{\"job\":\"$nspace\",\"processes\":\\[\\{\"rank\":0,\"host\":\"$name\",.*\"rank\":3,.*\\}\\]\\}\\]\$"
# Where there is a libslurm and no Slurm, that complains before.
like "a job that is not here has none" "$(owner "$pmixhost" ps 999999 | tail -n 1)" \
    '^pmixhost: error: job 999999: not on this host, and not reached elsewhere: '
owner "$pmixhost" signal -s USR1 "$job_id" >"$test_dir/signal"
is "pmixhost signal is silent" "$? $(cat "$test_dir/signal")" "0 "
ok "and reaches every process" until_true 10 said signalled 4
owner "$pmixhost" signal -s SIGUSR1 --ranks 1-2 "$step"
ok "or those that are named" until_true 10 eval '(($(grep -c "^signalled [12]" "$out") == 4 && $(grep -c ^signalled "$out") == 6))'
owner "$pmixhost" pause "$job_id" --ranks 3
stopped() { beyond ps -o stat= -p "$(tasks_beyond | tr '\n' ',' | sed 's/,$//')" | grep -c '^T'; }
ok "pmixhost pause stops one on another host" until_true 10 eval '(($(stopped) == 1))'
owner "$pmixhost" resume "$job_id"
is "resume lets it go on" "$(stopped)" 0
like "a rank that is not there is said to be none" "$(owner "$pmixhost" kill "$job_id" --ranks 9)" \
    "^pmixhost: error: job $job_id: there is no such process"
like "ranks that are none are a wrong command line" "$(owner "$pmixhost" kill "$job_id" --ranks 1-; echo $?)" 'allowed: ranks and ranges.*2$'
like "as is a signal that is none" "$(owner "$pmixhost" signal -s NONE "$job_id"; echo $?)" "no signal 'NONE'.*2\$"
[[ $backend == local ]] || like "a stranger's list is empty" "$(stranger "$pmixhost" servers)" '^pmixhost: no PMIx server of yours runs on this host'
like "pmixhost with the job's number" "$(owner "$pmixhost" with "$job_id" -- "$clients/tool" who)" "^tool $nspace\\.tool"
# OpenPMIx' own: it takes nothing but one list of namespaces for an answer.
like "OpenPMIx' pps lists the job" "$(owner "$pmixhost" with "$job_id" -- pps 2>&1 | grep ^Active)" "^Active nspaces: ([^ ]*,)?$nspace(,|\$)"
of_openpmix() { owner "$pmixhost" with "$job_id" -- timeout -k 2 "$(patience "$what" 30)" "$@" 2>&1; } # for $what
what="OpenPMIx' pps looks at --pid"
is "$what" "$(of_openpmix pps | grep -c ^Active) $(of_openpmix pps --pid 1 | grep -c ^Active)" "1 0"
owner "$pmixhost" publish "$job_id" tools.own "for its tools" >/dev/null
what="OpenPMIx' plookup finds what is published"
like "$what" "$(of_openpmix plookup tools.own)" 'for its tools'
owner "$pmixhost" unpublish "$job_id" tools.own >/dev/null
what="OpenPMIx' pquery asks what it is told"
like "$what" "$(of_openpmix pquery PMIX_QUERY_NAMESPACES | grep -A 1 '^PMIX_QUERY_NAMESPACES')" "PMIX_QUERY_NAMESPACES.*$nspace"
attributes=(--host all) event=(--event 7203) # newer ones have other options
! pattrs --help 2>&1 | grep -q -e --host-fns || attributes=(--host-fns)
pevent --help 2>&1 | grep -q -e '--event ' || event=(7203)
what="OpenPMIx' pattrs lists what the host answers"
like "$what" "$(of_openpmix pattrs "${attributes[@]}")" 'PMIx_Query'
what="OpenPMIx' pevent tells every process"
of_openpmix pevent --range namespace "${event[@]}" >"$test_dir/pevent"
ok "$what" until_true "$(patience "$what" 10)" eval '(($(grep -c "^heard . 7203" "$out") == 4))'
like "with the step's" "$(owner "$pmixhost" with "$step" -- "$clients/tool" who)" "^tool $nspace\\.tool"
like "with the namespace, and a tool that names the server" \
    "$(owner "$pmixhost" with "$nspace" -- "$clients/tool" nspace "$nspace" who)" "^tool $nspace\\.tool"
like "a job that is not here is said to be none" "$(owner "$pmixhost" with 999999 -- "$clients/tool" who | tail -n 1)" \
    "^pmixhost: error: no PMIx server of job 999999 is on this host, and none was reached elsewhere: "
owner "$pmixhost" with "$job_id" -- sh -c 'exit 7' >/dev/null
is "the exit code is the tool's" "$?" 7
owner "$pmixhost" with "$job_id" -- sh -c 'kill -TERM $PPID; while :; do :; done' >/dev/null
is "a signal is passed on to it" "$?" 143
is "nothing of it is left" "$(there find "$temporary" -maxdepth 1 -name 'pmixhost-with.*')" ""
# One that is killed leaves its directory to its tool, and this one to whoever comes next.
runs_with() { owner env XDG_RUNTIME_DIR="$temporary" "$pmixhost" with "$job_id" -- "$@"; }
left_behind() { there find "$temporary" -maxdepth 1 -name 'pmixhost-with.*' | wc -l; }
# shellcheck disable=SC2016 # for that shell
runs_with sh -c 'kill -KILL $PPID; until test -e "$0"; do sleep 0.1; done' "$CLIENT_DIR/over" >/dev/null &
killer=$!
wait "$killer"
is "one that is killed leaves a directory" "$?:$(left_behind)" 137:1
runs_with true
is "where its tool runs it stays" "$(left_behind)" 1
touch "$CLIENT_DIR/over"
swept() { runs_with true && (($(left_behind) == 0)); }
ok "and the next one removes it" until_true 20 swept

# ------------------------------------------------------------------------------------------- its name

like "a tool may have a name of its own" "$(tool nspace "$nspace" name mytool 3 who)" '^tool mytool 3'
unlike "no tool may be called like the job" "$(tool nspace "$nspace" name "$nspace" 0 who)" '^tool'
unlike "nor by other keys" "$(tool nspace "$nspace" claim "$nspace" 0 who)" "^tool $nspace 0"
unlike "nor like one that will get its name here" "$(tool nspace "$nspace" name "$nspace.tool.0.9999" 0 who)" '^tool'
unlike "of another job there is nothing" "$(tool nspace "$backend.999999.0" who)" '^tool'

# ------------------------------------------------------------------------------- what a tool may do

table=$(tool nspace "$nspace" table "$nspace")
is "it gets the table of all processes" "$(grep -c '^process' <<<"$table")" 4
pids=$(tasks_there | sort -n | tr '\n' ' ')
is "with their hosts and numbers" "$(awk '$3 == "'"$name"'" {print $4}' <<<"$table" | sort -n | tr '\n' ' ')" "$pids"
like "of two keys a tool gets the one that is known" "$(tool nspace "$nspace" two)" 'two: PMIX_ERR_PARTIAL_SUCCESS'
like "it signals all processes" "$(tool nspace "$nspace" signal 10 "$nspace")" '^signal: PMIX_(SUCCESS|OPERATION_SUCCEEDED)'
ok "on every host" until_true 10 said signalled 10
like "what it notifies" "$(tool nspace "$nspace" notify 7201 "$nspace")" '^notify: PMIX_'
ok "comes to every process" until_true 10 eval '(($(grep -c "^heard . 7201" "$out") == 4))'
tool nspace "$nspace" global end notify end "$nspace" >/dev/null
tool nspace "$nspace" doom 7204 "$nspace" >/dev/null
tool nspace "$nspace" notify 7201 "$nspace" >/dev/null
ok "another event follows" until_true 10 eval '(($(grep -c "^heard . 7201" "$out") == 8))'
like "on its own host the library tells" "$(cat "$out")" 'heard [01] JOB_END'
unlike "it cannot tell the other hosts that the job has ended" "$(cat "$out")" 'heard [23] JOB_END'
like "an event of its own with what the RM is about to end stays on its host, too" "$(cat "$out")" 'heard [01] 7204'
unlike "the others do not hear it, and nothing is ended" "$(cat "$out")" 'heard [23] 7204'
like "it publishes" "$(tool nspace "$nspace" name mytool 3 publish test.key process find test.key)" \
    "^publish: PMIX_SUCCESS.*found a tool's of mytool 3"
finds_nothing() { [[ $(tool nspace "$nspace" find "$1") == *"find: PMIX_ERR_NOT_FOUND"* ]]; } # KEY
ok "what it publishes for as long as it is there goes with it" until_true 10 finds_nothing test.key
tool nspace "$nspace" publish test.key application hold "$CLIENT_DIR/never" >"$test_dir/published" &
publisher=$!
ok "one holds what it has published" until_true 20 grep -q '^held' "$test_dir/published"
like "where others find it" "$(tool nspace "$nspace" find test.key)" "^found a tool's of $nspace\\.tool\\.0\\.[0-9]+ 0"
like "and it alone publishes it" "$(tool nspace "$nspace" publish test.key session)" '^publish: PMIX_ERR_DUPLICATE_KEY'
there pkill -KILL -x -f "$clients/tool nspace $nspace publish test.key application hold $CLIENT_DIR/never"
wait "$publisher"
ok "it goes with one that is killed" until_true 10 finds_nothing test.key
like "what is for the session stays" "$(tool nspace "$nspace" name mytool 3 publish test.key session; tool nspace "$nspace" find test.key)" \
    "found a tool's of mytool 3"
like "is not another one's to take back" "$(tool nspace "$nspace" name mytool 4 unpublish test.key)" '^unpublish: PMIX_ERR_NOT_FOUND'
like "but its own, when it comes again" "$(tool nspace "$nspace" name mytool 3 unpublish test.key find test.key)" \
    '^unpublish: PMIX_SUCCESS.*find: PMIX_ERR_NOT_FOUND'
like "what is for the first one who reads is read once" \
    "$(tool nspace "$nspace" publish test.key read find test.key find test.key)" "^publish: PMIX_SUCCESS.*found a tool's.*find: PMIX_ERR_NOT_FOUND"
tool nspace "$nspace" abort >/dev/null
is "a tool that aborts nobody in particular ends nothing" "$(tool nspace "$nspace" table "$nspace" | grep -c ^process)" 4
spawned=$(tool nspace "$nspace" spawn /bin/true)
like "it spawns" "$spawned" "^spawned $backend\\.[0-9]+\\.[0-9a-f]+"
unlike "a job of its own" "$spawned" "^spawned $nspace"$'\n'
like "a job of no name is not there" "$(tool nspace "$nspace" signal 10 "$backend.999999.0")" '^signal: PMIX_ERR_NOT_FOUND'

# ------------------------------------------------------------------------------- several, and others

holds=()
for i in 1 2 3; do
    tool nspace "$nspace" hold "$CLIENT_DIR/go" namespaces >"$test_dir/hold.$i" &
    holds+=($!)
done
tool nspace "$nspace" name twin 0 hold "$CLIENT_DIR/go" >"$test_dir/hold.4" &
holds+=($!)
ok "several tools are here at once" until_true 20 eval '(($(cat "$test_dir"/hold.? | grep -c "^held") == 4))'
unlike "but not two of one name" "$(tool nspace "$nspace" name twin 0 who)" '^tool'
touch "$CLIENT_DIR/go"
wait "${holds[@]}"
is "each gets its answer and leaves" "$(cat "$test_dir"/hold.? | grep -c '^finalize: PMIX_SUCCESS')" 4
is_free() { [[ $(tool nspace "$nspace" name twin 0 who) == "tool twin 0"* ]]; }
ok "the name is free again" until_true 10 is_free
killed=()
for time in 0.002 0.005 0.01 0.015 0.02 0.03 0.05; do # whatever each has come to by then
    for i in 1 2 3; do
        { owner timeout -s KILL $time "$clients/tool" nspace "$nspace" namespaces table "$nspace" notify 7203 "$nspace" \
            signal 0 "$nspace" namespaces table "$nspace"; } >/dev/null 2>&1 &
        killed+=($!)
    done
done
wait "${killed[@]}"
like "tools that are killed do no harm" "$(tool nspace "$nspace" namespaces)" "namespace $nspace"
uri=$(head -n 1 <<<"$text")
[[ $backend == local ]] || unlike "a stranger does not find the job" "$(stranger "$clients/tool" nspace "$nspace" who)" '^tool'
[[ $backend == local ]] || unlike "nor is he let in where he knows the address" "$(stranger "$clients/tool" uri "$uri" who)" '^tool'
ok "after all that the job still runs" kill -0 "$job_pid"

# --------------------------------------------------------------------------------- what a tool hears

touch "$test_dir/hear"
tool nspace "$nspace" hear aborted >"$test_dir/hear" &
hearer=$!
ok "a tool listens" until_true 20 grep -q '^listens' "$test_dir/hear"
beyond kill -KILL "$(tasks_beyond | tail -n 1)"
wait "$hearer"
like "and hears of the end of a process on another host" "$(cat "$test_dir/hear")" \
    "heard PMIX_ERR_PROC_ABORTED of $nspace [23]"
tool nspace "$nspace" notify 7202 "$nspace" >/dev/null
wait "$job_pid"
is "the others of the job end well" "$(grep -c '^ok' "$CLIENT_DIR/verdicts")" 3
gone() { [[ -z $(there find "$servers" -maxdepth 2 -name 'pmix.*.tool*') ]]; }
ok "the files go with it" until_true 20 gone # a daemon may outlive its job a little
done_testing
