#!/bin/bash
# Connect and disconnect: within one job on either backend, and between the steps of an allocation.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

for shape in 1x4 3x1 4x2; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" connect own
    ok "connect and disconnect within a job, $shape" all_ok $((h * p))
done
client 3 2 connect lonely 2
ok "connect to a namespace that does not come ends with the timeout" all_ok 6
like "and says so" "$output" 'lonely 0: PMIX_ERR_TIMEOUT'

# pair SCRIPT: two steps at once in an allocation of three hosts
pair() {
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 --ntasks-per-node=8 bash -c "$1"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
}
if [[ $backend == slurm ]]; then
    for mode in wildcard list words part; do
        pair "srun --mpi=pmixhost -N2 -n3 --overlap $clients/connect pair k A B 3 $mode &
            srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect pair k B A 3 $mode & wait"
        ok "two steps connect, read each other's data, fence and disconnect, three times: $mode" so_many_ok 7
    done
    pair "srun --mpi=pmixhost -N2 -n3 --overlap $clients/connect unmet k A B &
        srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect unmet k B A & wait"
    ok "two steps fence without a connect, when one host of each has heard of the other" so_many_ok 7
    pair "srun --mpi=pmixhost -N2 -n3 --overlap $clients/connect together k A B 5 &
        srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect together k B A 5 & wait"
    ok "two steps connect, build a group and fence at once, each process in an order of its own" so_many_ok 7
    pair "srun --mpi=pmixhost -K0 -N2 -n3 --overlap $clients/connect die k A B &
        srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect die k B A & wait"
    ok "a process that dies ends the connect it is waited for in, at all others" so_many_ok 6
    pair "srun --mpi=pmixhost -K0 -N2 -n3 --overlap $clients/connect die k A B late &
        srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect die k B A late & wait"
    ok "and at those who come when all of its job has ended" so_many_ok 6
    pair "srun --mpi=pmixhost -K0 -N2 -n2 --overlap $clients/connect absent k A B &
        srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect absent k B A & wait"
    ok "a process that died on a host that has nothing to do with the session is not waited for" so_many_ok 5
    pair "srun --mpi=pmixhost -K0 -N2 -n2 --overlap $clients/connect absent k A B leaves &
        srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/connect absent k B A & wait"
    ok "nor one that has left in order" so_many_ok 6
    # Sruns that are told their job by its number know its hosts, too: the session is on one of them.
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 --ntasks-per-node=8 --no-shell -J elsewhere
    run bash -c 'job=$(squeue -h -n elsewhere -o %i) hosts=($(scontrol show hostnames "$(squeue -h -n elsewhere -o %N)"))
        srun --mpi=pmixhost --jobid="$job" -w "${hosts[2]}" -N1 -n2 --overlap "$0" pair k A B 1 words &
        srun --mpi=pmixhost --jobid="$job" -w "${hosts[1]}" -N1 -n2 --overlap "$0" pair k B A 1 words & wait
        scancel "$job"' "$clients/connect"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
    ok "so do two that are started from outside, on hosts of their own" so_many_ok 4
    if [[ -x $clients/mpi_connect ]]; then
        pair "srun --mpi=pmixhost -N2 -n2 --overlap $clients/mpi_connect accept &
            srun --mpi=pmixhost -N2 -n3 -r1 --overlap $clients/mpi_connect connect & wait"
        ok "MPI_Comm_accept and MPI_Comm_connect between two steps, by a published name, twice" so_many_ok 5
        pair "srun --mpi=pmixhost -N2 -n2 --overlap $clients/mpi_connect port >$test_dir/port &
            until grep -qs ^port $test_dir/port; do sleep 0.1; done
            srun --mpi=pmixhost -N2 -n3 -r1 --overlap $clients/mpi_connect to \"\$(sed -n 's/^port //p' $test_dir/port)\"
            wait; cat $test_dir/port"
        ok "the same by a port string on the command line, three times at one port" so_many_ok 5
    else
        skip "MPI_Comm_accept and MPI_Comm_connect between two steps, by a published name, twice" "no mpicc"
        skip "the same by a port string on the command line, three times at one port" "no mpicc"
    fi
    ok "nothing is left" no_litter 20
fi
done_testing
