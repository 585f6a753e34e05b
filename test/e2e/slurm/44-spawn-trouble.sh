#!/bin/bash
# PMIx_Spawn where Slurm says no: a limit of steps, a host that does not answer, a controller that does
# not, and none at all. On a cluster of its own, because of its configuration and its end.
. "$(dirname "$0")/../lib.sh"

own_cluster trouble --conf MaxStepCount=5 || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
spawn=$PMIXHOST_CLIENTS/spawn

run salloc -Q -N1 -n4 srun "$mpi" -n1 "$spawn" times=8 status=ANY -- /bin/true
ok "the limit of steps is reached: the caller gets an error" \
    eval '(($(grep -c "^spawned " <<<"$output") == 4 && $(grep -c "^refused PMIX_ERR_OUT_OF_RESOURCE" <<<"$output") == 4))'
ok "and lives on" eval 'passed && grep -q "^ok 0" <<<"$output"'
like "and the user is told" "$output" 'Step limit reached'

# --- somebody does not answer while a job spawns. in_job WHAT COMMAND ARGUMENT ...: a job whose first
# spawn succeeds and whose second one comes when COMMAND has been done; $output grows meanwhile.
in_job() {
    local what=$1 command=$2 TEST_LIMIT=150
    shift 2
    output=
    rm -f "$test_dir"/{out,go}
    run bash -c "salloc -Q -N2 -n8 srun $mpi -N1 -n1 -w n1 $spawn times=2 status=ANY await=$test_dir/go $* >$test_dir/out 2>&1" &
    job=$!
    ok "$what: what was spawned before is there" until_true 60 grep -qs '^spawned ' "$test_dir/out"
    $command
    touch "$test_dir/go"
    ok "$what: a spawn is answered with an error" until_true 90 grep -q '^refused ' "$test_dir/out"
    output=$(cat "$test_dir/out")
}
lives_on() {
    until_true 60 grep -q '^ok 0' "$test_dir/out" && return
    output=$(cat "$test_dir/out")
    return 1
}

# A host that did not answer, or that nobody asked for too long, may be drained or taken for dead, and Slurm may take its
# time to end what was there.
all_idle() { [[ $(as_user root sinfo -h -N -o %t | sort -u) == idle ]]; }
all_free() {
    free_the_nodes
    ok "$1: then all hosts are free again" until_true 60 all_idle || diag "$(as_user root sinfo -N -l)"
}

deaf_host() { on_host n2 pkill -STOP -x slurmd; }
in_job "a host does not answer" deaf_host pmix.host=n2 again:pmix.timeout=#3 -- /bin/true
like "a host does not answer: the time of PMIX_TIMEOUT is kept" "$output" 'refused PMIX_ERR_TIMEOUT .* after ([3-9]|[12][0-9])\.'
ok "a host does not answer: the caller lives on" lives_on
on_host n2 pkill -CONT -x slurmd
wait "$job"
all_free "a host does not answer"

deaf_controller() { on_host head pkill -STOP -x slurmctld; }
in_job "the controller does not answer" deaf_controller -- /bin/true
like "the controller does not answer: the caller gets an error" "$output" 'refused PMIX_ERR_UNREACH'
like "the controller does not answer: the user is told" "$output" 'Socket timed out'
ok "the controller does not answer: the caller lives on" lives_on
on_host head pkill -CONT -x slurmctld
wait "$job"
all_free "the controller does not answer"

# --- the controller answers, later than the caller waits: an srun that has no step yet takes no notice of a signal.
printf '#!/bin/sh\n[ ! -e "%s/go" ] || exec sleep 140\n' "$test_dir" >"$test_dir/sleeps"
chmod 755 "$test_dir/sleeps"
in_job "the controller is slow" deaf_controller again:pmix.timeout=#3 -- "$test_dir/sleeps"
like "the controller is slow: the time of PMIX_TIMEOUT is kept" "$output" 'refused PMIX_ERR_TIMEOUT'
on_host head pkill -CONT -x slurmctld
all_over() { ! kill -0 "$job" 2>/dev/null; }
ok "the controller is slow: the job that it starts all the same is ended" until_true 60 all_over
wait "$job"
all_free "the controller is slow"

# --- the launcher is killed: who waits for what it has started hears of its end all the same.
rm -f "$test_dir"/{out,asked}
run bash -c "salloc -Q -N2 -n8 srun $mpi -N1 -n1 -w n1 $spawn connect=$test_dir/asked pmix.mapby=node:oversubscribe \
    -- /bin/sleep 100 >$test_dir/out 2>&1" &
job=$!
ok "the launcher is killed: a job runs, and its end is waited for" until_true 60 test -e "$test_dir/asked"
on_host head pkill -KILL -x pmixhostd
for host in $(hosts_of_cluster); do on_host "$host" pkill -KILL -f '^/bin/sleep 100'; done
ok "the launcher is killed: its end is found out" until_true 50 grep -q '^connect: PMIX_ERR' "$test_dir/out"
wait "$job"
output=$(cat "$test_dir/out")
all_free "the launcher is killed"

no_controller() {
    on_host head pkill -KILL -x slurmctld
    until_true 10 eval '! on_host head pgrep -x slurmctld >/dev/null' # connections that break are another error
}
in_job "the controller is down" no_controller -- /bin/true
like "the controller is down: the caller gets an error" "$output" 'refused PMIX_ERR_UNREACH'
like "the controller is down: the user is told" "$output" 'Unable to contact slurm controller'
ok "the controller is down: the caller lives on" lives_on
done_testing
