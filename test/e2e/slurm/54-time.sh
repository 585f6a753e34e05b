#!/bin/bash
# The time of an allocation: a job is told before it is up, and one that is suspended goes on as if nothing
# had been.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=150

export PMIXHOST_EVENTS_TIME_WARNING=55s
job_options=(-t 1)
client 3 2 rounds warned 55
ok "all processes are told, once, before the time of the allocation is up" all_ok 6
unset PMIXHOST_EVENTS_TIME_WARNING
job_options=()

rounds() { cat "$CLIENT_DIR/enough.rounds" 2>/dev/null || echo 0; }
more_than() { (($(rounds) > $1)); }
job_state() { as_user root squeue -h -o "%T" | sort -u; }
is_in_state() { [[ $(job_state) == "$1" ]]; }
job_ended() { ! kill -0 "$job_pid" 2>/dev/null; }

configure '[transport]' 'dead_after = "3s"'
rm -f "$CLIENT_DIR"/*
out=$test_dir/out
(cd "$test_dir" && exec timeout -k 5 140 "${on_cluster[@]}" --user "$TEST_USER" -- \
    srun "$mpi" -O -N3 -n6 --ntasks-per-node=2 "$clients/rounds" until enough) >"$out" 2>&1 </dev/null &
job_pid=$!
ok "a job is suspended: it works before" until_true 60 more_than 2
job_id=$(as_user root squeue -h -o %i)
as_user root scontrol suspend "$job_id"
ok "a job is suspended: Slurm says so" until_true 30 is_in_state SUSPENDED
before=$(rounds)
sleep 10 # this is what the job must stand: more than the time after which a silent daemon is taken for dead
ok "a job is suspended: nothing moves" eval '(($(rounds) <= before + 1))'
ok "a job is suspended: it is still there" is_in_state SUSPENDED
as_user root scontrol resume "$job_id"
ok "a job is suspended: it goes on afterwards" until_true 60 more_than $((before + 3))
touch "$CLIENT_DIR/enough"
ok "a job is suspended: it ends by itself" until_true 60 job_ended
status=0
wait "$job_pid" || status=$?
output=$(cat "$out")
verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null)
ok "a job is suspended: all its processes are content" all_ok 6
configure
done_testing
