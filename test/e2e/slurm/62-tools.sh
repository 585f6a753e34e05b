#!/bin/bash
# PMIx tools at a job's daemons, on the hosts of the job: how they find them, what they may, and who is kept out.
. "$(dirname "$0")/../common/words.sh"

out=$test_dir/visited
: >"$out"
(cd "$test_dir" && exec timeout -k 5 170 "${on_cluster[@]}" --user pmixuser1 -- \
    srun "$mpi" -N2 -n4 --ntasks-per-node=2 -m block "$clients/visited") >"$out" 2>&1 </dev/null &
job_pid=$!
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
ok "a job of pmixuser1 runs" until_true 30 said there 4
host=$(host_name 1)
owner() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$@" 2>&1; }
stranger() { "${on_cluster[@]}" --user pmixuser2 --host "$host" -- timeout -k 5 60 "$@" 2>&1; }
tool() { owner "$clients/tool" "$@"; }

# ------------------------------------------------------------------------- how a tool finds the job

daemon=$(on_host "$host" pgrep -u pmixuser1 -x pmixhostd | tail -n 1)
directory=$(on_host "$host" find /tmp -maxdepth 2 -user pmixuser1 -name 'pmix.*.tool' -printf '%h\n')
ok "there is a directory with rendezvous files" test -n "$directory"
is "only their user can read them" \
    "$(on_host "$host" find "$directory" -name 'pmix.*.tool*' -printf '%m %u\n' | sort -u)" "600 pmixuser1"
nspace=$(on_host "$host" find "$directory" -name 'pmix.*.tool.*.server' -printf '%f\n' |
    sed 's/^pmix\.[^.]*\.tool\.//; s/\.server$//')
like "one has the name of the job's namespace" "$nspace" '^slurm\.[0-9]+\.0$'
text=$(on_host "$host" cat "$directory/pmix.$host.tool.$nspace")
like "its first line is the server's URI" "$(head -n 1 <<<"$text")" \
    "^$nspace\.server\.0;tcp4://127\.0\.0\.1:[0-9]+\$"
is "and the others are version, process and user" "$(sed -n '2{s/[0-9]*\.[0-9]*\.[0-9]*/version/;p}; 3,4p' <<<"$text")" \
    "version
$daemon
60001:60001"
like "a tool that searches finds the one job there is" "$(tool who namespaces)" "namespace $nspace"
like "by its namespace" "$(tool nspace "$nspace" who)" "^tool $nspace\.tool\.0\.[0-9]+ 0"
like "by the server's namespace" "$(tool nspace "$nspace.server" namespaces)" "namespace $nspace"
like "by the daemon's process" "$(tool pid "$daemon" namespaces)" "namespace $nspace"
like "by its file" "$(tool attach "$directory/pmix.$host.tool" namespaces)" "namespace $nspace"
like "by its URI" "$(tool uri "$(head -n 1 <<<"$text")" namespaces)" "namespace $nspace"
job_id=$(cut -d. -f2 <<<"$nspace")
like "beside the job's tasks, as srun starts it" "$(owner srun --overlap --jobid="$job_id" -w "$host" -N1 -n1 --mpi=none \
    "$clients/tool" nspace "$nspace" who)" "^tool $nspace\\.tool\\.0\\.[0-9]+ 0"

# ------------------------------------------------------------------------------- pmixhost with, servers

pmixhost=$PMIXHOST_BUILD/tools/pmixhost
servers=$(owner "$pmixhost" servers)
like "pmixhost servers lists it" "$(sed -n 2p <<<"$servers")" "^$nspace +0 +$daemon +[0-9.]+ +[0-9T:-]+ +tcp4://127\\.0\\.0\\.1:[0-9]+\$"
like "as JSON too" "$(owner "$pmixhost" servers --json | tr -d ' \n')" \
    "^\\[\\{\"job\":\"$nspace\",.*\"pid\":$daemon,.*\\}\\]\$"
like "inside of a task of another step, too" \
    "$(owner srun "$mpi" --overlap --jobid="$job_id" -w "$host" -N1 -n1 "$pmixhost" servers | grep "^$nspace ")" "^$nspace +0 +$daemon "
ps=$(owner "$pmixhost" ps)
is "pmixhost ps lists the processes of all hosts" "$(awk -v job="$nspace" 'NR > 1 && $1 == job {print $2}' <<<"$ps" | tr '\n' ' ')" \
    "0 1 2 3 "
is "with their numbers" "$(awk -v host="$host" '$3 == host {print $4}' <<<"$ps" | sort -n | tr '\n' ' ')" \
    "$(on_host "$host" pgrep -x visited | sort -n | tr '\n' ' ')"
like "of one job, as JSON" "$(owner "$pmixhost" ps "$job_id.0" --json | tr -d ' \n')" \
    "^\\[\\{\"job\":\"$nspace\",\"processes\":\\[\\{\"rank\":0,\"host\":\"$host\",.*\"rank\":3,.*\\}\\]\\}\\]\$"
like "a job that is not here has none" "$(owner "$pmixhost" ps 999999)" '^pmixhost: error: job 999999: not on this host, and not reached elsewhere: '
owner "$pmixhost" signal -s USR1 "$job_id" >"$test_dir/signal"
is "pmixhost signal is silent" "$? $(cat "$test_dir/signal")" "0 "
ok "and reaches every process" until_true 10 said signalled 4
owner "$pmixhost" signal -s SIGUSR1 --ranks 1-2 "$job_id.0"
ok "or those that are named" until_true 10 eval '(($(grep -c "^signalled [12]" "$out") == 4 && $(grep -c ^signalled "$out") == 6))'
owner "$pmixhost" pause "$job_id" --ranks 3
stopped() { on_host "$(host_name 2)" ps -C visited -o stat= | grep -c '^T'; }
is "pmixhost pause stops one on another host" "$(stopped)" 1
owner "$pmixhost" resume "$job_id"
is "resume lets it go on" "$(stopped)" 0
like "a rank that is not there is said to be none" "$(owner "$pmixhost" kill "$job_id" --ranks 9)" \
    "^pmixhost: error: job $job_id: there is no such process"
like "ranks that are none are a wrong command line" "$(owner "$pmixhost" kill "$job_id" --ranks 1-; echo $?)" 'allowed: ranks and ranges.*2$'
like "as is a signal that is none" "$(owner "$pmixhost" signal -s NONE "$job_id"; echo $?)" "no signal 'NONE'.*2\$"
like "a stranger's list is empty" "$(stranger "$pmixhost" servers)" '^pmixhost: no PMIx server of yours runs on this host'
like "pmixhost with the job's number" "$(owner "$pmixhost" with "$job_id" -- "$clients/tool" who)" "^tool $nspace\\.tool"
like "with the step's" "$(owner "$pmixhost" with "$job_id.0" -- "$clients/tool" who)" "^tool $nspace\\.tool"
like "with the namespace, and a tool that names the server" \
    "$(owner "$pmixhost" with "$nspace" -- "$clients/tool" nspace "$nspace" who)" "^tool $nspace\\.tool"
like "a job that is not here is said to be none" "$(owner "$pmixhost" with 999999 -- "$clients/tool" who)" \
    "^pmixhost: error: no PMIx server of job 999999 is on this host, and none was reached elsewhere: "
owner "$pmixhost" with "$job_id" -- sh -c 'exit 7' >/dev/null
is "the exit code is the tool's" "$?" 7
owner "$pmixhost" with "$job_id" -- sh -c 'kill -TERM $PPID; while :; do :; done' >/dev/null
is "a signal is passed on to it" "$?" 143
is "nothing of it is left" "$(on_host "$host" find /tmp -maxdepth 1 -name 'pmixhost-with.*')" ""

# ------------------------------------------------------------------------------------------- its name

like "a tool may have a name of its own" "$(tool nspace "$nspace" name mytool 3 who)" '^tool mytool 3'
unlike "no tool may be called like the job" "$(tool nspace "$nspace" name "$nspace" 0 who)" '^tool'
unlike "nor by other keys" "$(tool nspace "$nspace" claim "$nspace" 0 who)" "^tool $nspace 0"
unlike "nor like one that will get its name here" "$(tool nspace "$nspace" name "$nspace.tool.0.9999" 0 who)" '^tool'
unlike "of another job there is nothing" "$(tool nspace slurm.999999.0 who)" '^tool'

# ------------------------------------------------------------------------------- what a tool may do

table=$(tool nspace "$nspace" table "$nspace")
is "it gets the table of all processes" "$(grep -c '^process' <<<"$table")" 4
pids=$(on_host "$host" pgrep -x visited | sort -n | tr '\n' ' ')
is "with their hosts and numbers" "$(awk '$3 == "'"$host"'" {print $4}' <<<"$table" | sort -n | tr '\n' ' ')" "$pids"
like "it signals all processes" "$(tool nspace "$nspace" signal 10 "$nspace")" '^signal: PMIX_(SUCCESS|OPERATION_SUCCEEDED)'
ok "on every host" until_true 10 said signalled 10
like "what it notifies" "$(tool nspace "$nspace" notify 7201 "$nspace")" '^notify: PMIX_'
ok "comes to every process" until_true 10 eval '(($(grep -c "^heard . 7201" "$out") == 4))'
tool nspace "$nspace" global end notify end "$nspace" >/dev/null
tool nspace "$nspace" notify 7201 "$nspace" >/dev/null
ok "another event follows" until_true 10 eval '(($(grep -c "^heard . 7201" "$out") == 8))'
like "on its own host the library tells" "$(cat "$out")" 'heard [01] JOB_END'
unlike "it cannot tell the other hosts that the job has ended" "$(cat "$out")" 'heard [23] JOB_END'
like "it publishes nothing" "$(tool nspace "$nspace" publish test.key)" '^publish: PMIX_ERR_NOT_SUPPORTED'
tool nspace "$nspace" abort >/dev/null
is "a tool that aborts nobody in particular ends nothing" "$(tool nspace "$nspace" table "$nspace" | grep -c ^process)" 4
like "it spawns" "$(tool nspace "$nspace" spawn /bin/true)" '^spawned slurm\.[0-9]+\.[1-9]'
like "a job of no name is not there" "$(tool nspace "$nspace" signal 10 slurm.999999.0)" '^signal: PMIX_ERR_NOT_FOUND'

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
like "the name is free again" "$(tool nspace "$nspace" name twin 0 who)" '^tool twin 0'
killed=()
for time in 0.002 0.005 0.01 0.015 0.02 0.03 0.05; do # whatever each has come to by then
    for i in 1 2 3; do
        owner timeout -s KILL $time "$clients/tool" nspace "$nspace" namespaces table "$nspace" notify 7203 "$nspace" \
            signal 0 "$nspace" namespaces table "$nspace" >/dev/null &
        killed+=($!)
    done
done
wait "${killed[@]}"
like "tools that are killed do no harm" "$(tool nspace "$nspace" namespaces)" "namespace $nspace"
uri=$(head -n 1 <<<"$text")
unlike "a stranger does not find the job" "$(stranger "$clients/tool" nspace "$nspace" who)" '^tool'
unlike "nor is he let in where he knows the address" "$(stranger "$clients/tool" uri "$uri" who)" '^tool'
ok "after all that the job still runs" kill -0 "$job_pid"

# --------------------------------------------------------------------------------- what a tool hears

tool nspace "$nspace" hear aborted >"$test_dir/hear" &
hearer=$!
ok "a tool listens" until_true 20 grep -q '^listens' "$test_dir/hear"
other=$(host_name 2)
victim=$(on_host "$other" pgrep -x visited | tail -n 1)
on_host "$other" kill -KILL "$victim"
wait "$hearer"
like "and hears of the end of a process on another host" "$(cat "$test_dir/hear")" \
    "heard PMIX_ERR_PROC_ABORTED of $nspace [23]"
tool nspace "$nspace" notify 7202 "$nspace" >/dev/null
wait "$job_pid"
is "the others of the job end well" "$(grep -c '^ok' "$out")" 3
is "the files go with it" "$(on_host "$host" find /tmp -maxdepth 2 -name 'pmix.*.tool*')" ""
done_testing
