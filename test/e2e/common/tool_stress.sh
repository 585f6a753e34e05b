#!/bin/bash
# What tools do to a job's server without meaning to: a thousand connections that say nothing, and tools that are killed
# in the middle of each kind of call. The job and other tools go on, and nothing of them is left.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

out=$test_dir/visited
touch "$out" "$test_dir/holder" "$test_dir/flood"
configure '[tools]' 'max_connections = 2'
if [[ $backend == slurm ]]; then
    host=$(host_name 1) other=$(host_name 2) servers=/tmp
    owner() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 "${limit:-60}" "$@" 2>&1; }
    there() { on_host "$host" "$@"; }     # as who may look at and stop its processes
    beyond() { on_host "$other" "$@"; }   # the same on the other host
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- env CLIENT_LIMIT=480 \
        salloc -Q -N2 -w "$host,$other" --ntasks-per-node=8 srun "$mpi" -N2 -n4 --ntasks-per-node=2 -m block \
        "$clients/visited") >"$out" 2>&1 </dev/null &
else
    host=$(hostname -s) servers=$test_dir/servers
    mkdir "$servers"
    owner() { timeout -k 5 "${limit:-60}" "$@" 2>&1; }
    there() { "$@"; }
    beyond() { "$@"; }
    (cd "$test_dir" && exec timeout -k 5 500 env CLIENT_LIMIT=480 "$PMIXHOST_RUN" run --tmpdir "$servers" --hosts 2 \
        -n 4 "${job_options[@]}" "$clients/visited") >"$out" 2>&1 </dev/null &
fi
job_pid=$!
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
ok "a job runs" until_true 60 said there 4
mapfile -t files < <(there find "$servers" -maxdepth 2 -name "pmix.$host.tool" | sort)
file=${files[0]}
[[ $backend == local ]] || files+=("$(beyond find "$servers" -maxdepth 2 -name "pmix.$other.tool")")
is "it has two servers" "${#files[@]}" 2
uri=$(there head -n 1 "$file")
nspace=${uri%.server.*} port=${uri##*:}
daemon=$(there sed -n 3p "$file") distant=$(beyond sed -n 3p "${files[1]}")
tool() { owner "$clients/tool" attach "$file" "$@"; }
ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

tool spawn /bin/true table "$nspace" signal 10 "$nspace" notify 7204 "$nspace" >"$test_dir/first"
is "a tool does all that there is" "$(grep -cE '^(spawn|table|signal|notify): PMIX_(SUCCESS|OPERATION_SUCCEEDED)' "$test_dir/first")" 4
limit=500 CLIENT_LIMIT=500 tool hold "$CLIENT_DIR/go" table "$nspace" notify 7201 "$nspace" >"$test_dir/holder" &
holder=$!
ok "another one stays" until_true 20 grep -q '^held' "$test_dir/holder"
# The connections of processes and tools that the server has.
connections() { there ss -Htnap | awk -v by="pid=$daemon," -v port=":$port\$" 'index($0, by) && $1 != "LISTEN" && $4 ~ port' | sort; }
as_before() { (($(connections | wc -l) == before)); }
before=$(connections | wc -l)
is "two processes and a tool are connected" "$before" 3
nothing_left() {
    until_true 20 as_before && return
    diag "$(connections)"
    return 1
}

# ------------------------------------------------------------------------- connections that say nothing

# shellcheck disable=SC2016 # for the user's shell
owner sh -c 'echo "pid $$"; exec "$@"' sh "$clients/knock" flood 127.0.0.1 "$port" 1000 >"$test_dir/flood" </dev/null &
flood=$!
if [[ $backend == slurm ]]; then
    "${on_cluster[@]}" --user pmixuser2 --host "$host" -- timeout 30 "$clients/knock" flood 127.0.0.1 "$port" 1000 \
        >"$test_dir/stranger" 2>&1 </dev/null &
fi # it goes with its time
ok "1,000 connections that say nothing" until_true 30 grep -q '^1000 at once' "$test_dir/flood"
slowest=0 answered=0
for _ in {1..20}; do
    begin=$(ms)
    [[ $(tool namespaces table "$nspace") == *"namespaces: PMIX_SUCCESS"*"table: PMIX_SUCCESS"* ]] && answered=$((answered + 1))
    took=$(($(ms) - begin))
    ((took <= slowest)) || slowest=$took
done
is "twenty tools one after the other get their answers meanwhile" "$answered" 20
ok "in time" test "$slowest" -lt 20000
diag "the slowest after $slowest ms"
ok "the connections are still there" kill -0 "$flood"
there kill -KILL "$(sed -n 's/^pid //p' "$test_dir/flood")"
wait "$flood"
ok "they leave nothing" nothing_left

# ------------------------------------------------------------------------------- killed in a call

begin_tool() { # WHAT ...: held before it does that; sets $pid
    rm -f "$CLIENT_DIR/now"
    : >"$test_dir/victim"
    # shellcheck disable=SC2016 # for the user's shell
    owner sh -c 'echo "pid $$"; exec "$@"' sh "$clients/tool" attach "$file" hold "$CLIENT_DIR/now" "$@" >"$test_dir/victim" &
    victim=$!
    until_true 20 grep -q '^held' "$test_dir/victim" || return 1
    pid=$(sed -n 's/^pid //p' "$test_dir/victim")
}
end_tool() {
    there kill -KILL "$pid" 2>/dev/null # who notifies may be through already
    wait "$victim"
}
# stop HOW PID: all of its threads, each of which goes on until it is told
stop() {
    "$1" kill -STOP "$2"
    until_true 10 stands "$@"
}
stands() { ! "$1" bash -c "cat /proc/$2/task/*/stat" | sed 's/^.*) //' | grep -qv '^T'; }
waits_at() { # HOW PID: has that process something to read?
    "$1" ss -Htnp | awk -v by="pid=$2," 'index($0, by) && $2 > 0 {found = 1} END {exit !found}'
}
comes_to() { # HOW PID
    until_true 10 waits_at "$@" && return
    diag "$("$1" ss -Htnp; cat "$test_dir/victim"; there cat "/proc/$pid/stack" "/proc/$pid/wchan")"
    return 1
}
goes_on() { # AFTER WHAT
    unlike "$1: it was killed before it had its answer" "$(cat "$test_dir/victim")" '(table|signal|spawn|namespaces|find|publish|unpublish|abort|get|log|longer|push): '
    like "$1: another tool gets its answer" "$(tool table "$nspace")" 'table: PMIX_SUCCESS'
    ok "$1: nothing is left" nothing_left
}
# The server has stopped, so the request is there and its tool is gone when it goes on.
for call in namespaces "table $nspace" "signal 10 $nspace" "spawn /bin/true" "notify 7204 $nspace" "hear terminated" \
    "find no.such.key" "publish stress.key process" "unpublish no.such.key" abort "get pmix.job.size $nspace" "log text" \
    "longer 60" "push $nspace"; do
    # shellcheck disable=SC2086 # words
    begin_tool $call || diag "$(cat "$test_dir/victim")"
    stop there "$daemon"
    touch "$CLIENT_DIR/now"
    ok "${call% "$nspace"}: the request is there" comes_to there "$daemon"
    end_tool
    there kill -CONT "$daemon"
    goes_on "${call% "$nspace"}"
done
unpublished() { [[ $(tool find stress.key) == *"find: PMIX_ERR_NOT_FOUND"* ]]; }
ok "what a killed one has published is gone" until_true 10 unpublished
# The other host has stopped, so the server waits for it.
for call in "table $nspace" "signal 10 $nspace"; do
    # shellcheck disable=SC2086 # words
    begin_tool $call || diag "$(cat "$test_dir/victim")"
    stop beyond "$distant"
    touch "$CLIENT_DIR/now"
    ok "${call% "$nspace"}: another host is asked" comes_to beyond "$distant"
    end_tool
    beyond kill -CONT "$distant"
    goes_on "${call% "$nspace"}, while another host is asked"
done
begin_tool hear aborted
touch "$CLIENT_DIR/now"
ok "a tool waits for an event" until_true 20 grep -q '^listens' "$test_dir/victim"
end_tool
goes_on "an event"

# --------------------------------------------------------------------------------------------- and then

touch "$CLIENT_DIR/go"
wait "$holder"
is "the tool that was there all the time is served" "$(grep -c '^process' "$test_dir/holder")" 4
ok "its event comes to every process" until_true 10 eval '(($(grep -c "^heard . 7201" "$out") == 4))'
rank=$([[ $backend == slurm ]] && beyond pgrep -x visited | tail -n 1 || pgrep -P "$distant" -x visited | tail -n 1)
beyond kill -KILL "$rank"
like "an event that the killed one waited for does no harm" "$(tool table "$nspace")" 'table: PMIX_SUCCESS'
tool notify 7202 "$nspace" >/dev/null
wait "$job_pid"
is "the job ends well" "$(grep -c '^ok' "$CLIENT_DIR/verdicts")" 3 # client.h says why not its output
if [[ $backend == slurm ]]; then
    ok "nothing is left on any host" no_litter 40
else
    is "nothing is left" "$(ls -d "$servers"/pmixhost-* 2>/dev/null)" ""
fi
configure
done_testing
