#!/bin/bash
# Events between jobs: the steps of an allocation, and a job with the one that it has spawned.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves; the session may call a step after a minute

# pair SCRIPT: two steps at once in an allocation of three hosts
pair() {
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 --ntasks-per-node=8 bash -c "$1"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null)
}
if [[ $backend == slurm ]]; then
    one="srun --mpi=pmixhost --overlap -N2 -n4" other="srun --mpi=pmixhost --overlap -N2 -n3 -r1"
    cross_job=$clients/cross_job_events
    pair "$one $cross_job talk & $other $cross_job talk & wait"
    ok "events over the ranges that leave a step come to another one once and in order" so_many_ok 7
    pair "$one $cross_job listen & $other $cross_job tell & wait"
    ok "a step that only listens hears what another one notifies" so_many_ok 7
    pair "$other $cross_job tell early; $one $cross_job listen late"
    ok "a step that starts later hears of it too" so_many_ok 7
    pair "$one $cross_job die A & $other -K0 $cross_job die B & wait"
    ok "the end of a process is told to those who have connected with it" so_many_ok 6
    # Nobody's business beyond the step: no session is started.
    run salloc -Q -N2 bash -c "srun --mpi=pmixhost -n2 -N2 $clients/events late; squeue -h -s -j \$SLURM_JOB_ID -o %j"
    unlike "events within a step start no session" "$output" 'FAIL|pmixhost-session'
fi
client 2 1 cross_job_events spawn
ok "a job and the one that it has spawned hear each other's events" so_many_ok 4
for code in 0 3 137; do
    client 2 2 cross_job_events child end $code
    ok "the end of a spawned job is told to who asked for it: $code" so_many_ok 4
done
client 2 2 cross_job_events child all 3
ok "the start of a spawned job, its launch and its end" so_many_ok 4
for where in slot node; do
    client 2 2 cross_job_events first "$where:oversubscribe"
    ok "the start is told when the first process runs, while another one waits: by $where" so_many_ok 4
done
[[ $backend == local ]] || ok "nothing is left" no_litter 20
done_testing
