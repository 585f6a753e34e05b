#!/bin/bash
# A job that is suspended and resumed goes on as if nothing had been, however long that took.
. "$(dirname "$0")/../common/words.sh"

# Shorter than the suspension, and longer than a busy machine of several guests stands still.
patience=6 suspension=10
log=$test_dir/log
configure_logged '[transport]' "dead_after = \"${patience}s\"" '[daemon]' "hang_timeout = \"${patience}s\""
trap 'configure; test_end' EXIT
hosts=$(hosts_of_cluster)
count=$(wc -l <<<"$hosts")

# All ranks but the first wait in a fence, the first waits for a file.
begin_job() {
    rm -f "$test_dir"/{out,go}
    run bash -c "srun $mpi -N$count -n$count $PMIXHOST_CLIENTS/allocate release id=1 await=$test_dir/go >$test_dir/out 2>&1" &
    job=$!
    until_true 60 grep -qs '^release' "$test_dir/out"
}
end_job() {
    touch "$test_dir/go"
    wait "$job"
    output=$(cat "$test_dir/out")
}
all_of_them_ok() {
    (($(grep -c '^ok ' <<<"$output") == count)) || { diag "what the daemons say:" "$(cat "$log" 2>&1)" && false; }
}
state_is() { [[ $(as_user root squeue -h -j "$1" -o %T) == "$2" ]]; }
tasks_are() { # REGEX
    local host
    for host in $hosts; do [[ $(on_host "$host" ps -o stat= -C allocate) =~ ^$1 ]] || return 1; done
}

begin_job
number=$(as_user root squeue -h -o %i)
as_user root scontrol suspend "$number"
ok "a job is suspended" until_true 20 eval 'state_is "$number" SUSPENDED && tasks_are T'
sleep $suspension
ok "it is not ended" state_is "$number" SUSPENDED
as_user root scontrol resume "$number"
ok "it is resumed" until_true 20 eval 'state_is "$number" RUNNING && tasks_are [SR]'
end_job
ok "and goes on to its end" all_of_them_ok
unlike "and nobody noticed" "$output" 'pmixhost'

# Where a daemon is in a step's container that Slurm can freeze, it is suspended too, and resumed one host after
# the other.
begin_job
for host in $hosts; do on_host "$host" pkill -STOP pmixhostd; done
sleep $suspension
for host in $hosts; do
    on_host "$host" pkill -CONT pmixhostd
    sleep 0.5
done
end_job
ok "a job whose daemons are suspended with it goes on to its end" all_of_them_ok
unlike "and nobody noticed that either" "$output" 'pmixhost'
done_testing
