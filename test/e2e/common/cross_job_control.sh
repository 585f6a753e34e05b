#!/bin/bash
# What a process may ask of its host about processes of other jobs: those that it has spawned, its parent,
# other steps of its allocation.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

# cross_job WHAT HOSTS RANKS-PER-HOST
cross_job() {
    client "$2" "$3" cross_job_control "$1"
}
for shape in 1x2 2x2; do
    h=${shape%x*} p=${shape#*x} n=$((${shape%x*} * ${shape#*x}))
    cross_job signal "$h" "$p"
    ok "signals for a spawned job, for all and for some with one of the own job, $shape" all_ok $((3 * n))
    cross_job terminate "$h" "$p"
    ok "a spawned job terminates a process of its parent, $shape" all_ok $((3 * n))
    cross_job kill "$h" "$p"
    ok "a spawned job is killed, the parent lives on, $shape" eval "ended_in_time && so_many_ok $n"
done
cross_job refused 2 2
ok "what makes no sense signals nobody, in no job" all_ok 12
cross_job pause 2 2
ok "pause and resume a process of a spawned job" all_ok 12
cross_job checkpoint 2 2
ok "a checkpoint is asked for by an event, made and told of, another one by a signal" all_ok 12
cross_job everyone 2 2
ok "a signal for everyone of the session" all_ok 12

if [[ $backend == slurm ]]; then
    # steps SCRIPT: in an allocation of three hosts
    steps() {
        rm -f "$CLIENT_DIR"/*
        run salloc -Q -N3 --ntasks-per-node=8 bash -c "$1"
        verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null)
    }
    one="srun --mpi=pmixhost --overlap -N2 -n4" other="srun --mpi=pmixhost --overlap -N2 -n3 -r1"
    program=$clients/cross_job_control
    steps "$one $program listen B & $other $program to B & wait"
    ok "a step that has nothing to do with the session is controlled by another one" so_many_ok 7
    steps "srun --mpi=none --overlap -N1 -n1 sleep 600 & plain=\$!
        $one $program listen C & c=\$!
        $other $program all 4; wait \$c; kill -0 \$plain && echo plain lives; kill \$plain"
    ok "everyone: those who do not know of the session, too" so_many_ok 7
    like "but not a step without pmixhost" "$output" 'plain lives'
    steps "$one $program listen B & $other $program to B & wait; $other $program none B"
    ok "a step that has ended is not found" so_many_ok 10
else # nobody can tell here whether it will come
    client 1 2 cross_job_control timeout
    ok "the time of PMIX_TIMEOUT is kept" all_ok 2
fi
[[ $backend == local ]] || ok "nothing is left" no_litter 20
done_testing
