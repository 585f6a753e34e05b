#!/bin/bash
# A host that is lost is told to every process that is left, as PMIX_EVENT_NODE_DOWN; and a job that asked
# to live on (srun --no-kill, --kill-on-bad-exit=0) does, whatever it loses.
. "$(dirname "$0")/../common/words.sh"

job_pid='' server_pid=''
out=$test_dir/down
victim=$(host_name 3)
server() { on_host "$victim" ps -o pid=,ppid= -C pmixhostd | awk '{p[$1]=$2} END {for (i in p) if (p[i] in p) print i}'; }

all_there() { (($(grep -c '^there' "$out") == 8 * ${#doing[@]})); }
job_ended() { ! kill -0 "$job_pid" 2>/dev/null; }
doing=("$clients/events down $victim")
begin_job() { # WHAT SRUN-OPTIONS: steps of eight at once, one for each of $doing
    local what=$1
    shift
    : >"$out"
    rm -f "$CLIENT_DIR"/*
    local script='' one
    for one in "${doing[@]}"; do
        script+="srun $mpi -O --overlap -N4 -n8 --ntasks-per-node=2 $* $one & "
    done
    (cd "$test_dir" && exec timeout -k 5 300 "${on_cluster[@]}" --user "$TEST_USER" -- salloc -Q -N4 --no-kill \
        bash -c "$script wait") >"$out" 2>&1 </dev/null &
    job_pid=$!
    output=
    ok "$what: its processes are there" until_true 60 all_there || end_jobs
}
# This is one number, for there must be no doubt about what is killed.
server_known() {
    server_pid=$(server)
    [[ $server_pid =~ ^[0-9]+$ ]]
}
kill_server() { until_true 20 server_known && on_host "$victim" kill -KILL "$server_pid"; }
# survivors SECONDS: the six of each step that are left hear of it and go on, and the job ends by itself.
survivors() {
    local result=0
    until_true "$1" job_ended || {
        result=1
        end_jobs
    }
    status=0
    wait "$job_pid" || status=$?
    output=$(cat "$out")
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null)
    ((result == 0)) && so_many_ok $((6 * ${#doing[@]}))
}
all_idle() { [[ -z $(as_user root sinfo -h -N -t drain,drng,down,comp,fail,unk -o %N) ]] && no_jobs; }
remove_step_files() { # of a host that nobody could clean up
    # shellcheck disable=SC2016 # the user is an argument
    on_host "$victim" sh -c 'find /tmp -mindepth 1 -maxdepth 1 -user "$1" \
        \( -name "pmixhost-*" -o -name ".pmixhost-*" \) -exec rm -rf {} +' sh "$TEST_USER"
}
# There is no limit: it prints the time from the loss to the last process that heard of it.
latency() { # SECONDS-SINCE-BOOT
    awk -v began="$1" '/^heard/ {t = $4 - began; if (t > last) last = t} END {printf "# the last heard of it after %.3f s\n", last}' "$out"
}
now() { awk '{print $1}' /proc/uptime; }

begin_job "a job that lives on" --kill-on-bad-exit=0
began=$(now)
ok "the server of a host is killed" kill_server
ok "the server of a host is killed: the others hear of a lost host and go on" survivors 120
latency "$began"
like "the server of a host is killed: a line says so" "$output" "pmixhost: .*$victim"

begin_job "a job with --no-kill" --no-kill
ok "the server of a host is killed, with --no-kill" kill_server
ok "the same with --no-kill" survivors 120

for flag in plain optional ft notify; do
    doing=("$clients/group_ends lost $victim $flag")
    begin_job "a group of all, under construction: $flag" --kill-on-bad-exit=0
    kill_server
    ok "the server of a host with members that have not joined is killed: the others hear: $flag" survivors 120
done
victim=$(host_name 1)
doing=("$clients/group_ends lost $victim first")
begin_job "a group of all, under construction: its first host" --kill-on-bad-exit=0
kill_server
ok "the server of the first host of a group is killed: an error for the others, though it is optional" survivors 120
victim=$(host_name 3)
doing=("$clients/events down $victim")

begin_job "another one that lives on" --kill-on-bad-exit=0
# shellcheck disable=SC2046 # all of them
on_host "$victim" kill -KILL $(on_host "$victim" pgrep -x pmixhostd) $(on_host "$victim" pgrep -x events)
ok "a host's server, supervisor and tasks are killed: the others go on" survivors 120

doing=("$clients/events down $victim" "$clients/group_ends lost $victim plain" "$clients/group_ends lost $victim notify")
begin_job "a job that lives on without a host" --no-kill --kill-on-bad-exit=0
began=$(now)
"$PMIXHOST_CLUSTER" cut "$victim" --dir "$PMIXHOST_CLUSTER_DIR"
ok "a host is cut off: the others hear of a lost host, two groups under construction end, and all go on" survivors 170
latency "$began"
"$PMIXHOST_CLUSTER" mend "$victim" --dir "$PMIXHOST_CLUSTER_DIR"
ok "all hosts are idle again" until_true 150 all_idle
nothing_runs() { [[ -z $(left_over) ]]; }
left_over() { on_host "$victim" ps -o pid=,ppid=,stat=,comm= -C pmixhostd,events,group_ends; }
ok "what ran on the host that was cut off has ended" until_true 120 nothing_runs || diag "left: $(left_over)"
remove_step_files
on_host "$victim" sh -c 'for p in $(pgrep -x pmixhostd) $(pgrep -x events) $(pgrep -x group_ends); do kill -KILL $p; done'
done_testing
