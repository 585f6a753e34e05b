#!/bin/bash
# What processes know of other jobs of their session that they have not connected with: a parent of its
# children, children of their parent and of each other; and what those who have connected know of who is
# on their host.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

client 1 1 family 1 pmix.mapby=node:oversubscribe
ok "parent, child and its sibling read each other's job information and data" all_ok 3
client 3 2 family 4 pmix.mapby=node:oversubscribe
ok "the same on three hosts, six parents and four children each, and who is local is known" all_ok 14
[[ $backend != slurm ]] || job_options=(-w "$(host_name 1),$(host_name 2),$(host_name 3)")
client 3 1 family 5 "pmix.host=$(host_name 3),$(host_name 1)" pmix.mapby=slot:oversubscribe
ok "children on some of the parent's hosts, in another order" all_ok 13
client 3 1 family 3 "pmix.host=$(host_name 3)" pmix.mapby=slot:oversubscribe
job_options=()
ok "children on none but the parent's last host" all_ok 9
client 2 2 family strangers
ok "a namespace that is nobody's is not found, soon and each time" all_ok 4

if [[ -x $clients/mpi_siblings ]]; then
    family() { # RANKS HOSTS PROGRAM ...
        local ranks=$1 hosts=$2
        shift 2
        if [[ $backend == slurm ]]; then
            run salloc -Q -N3 --ntasks-per-node=12 srun "$mpi" -N "$hosts" -n "$ranks" "$@"
        else
            status=0
            output=$(cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "$PMIXHOST_RUN" run --hosts 3 \
                -n "$ranks" "$@" 2>&1 </dev/null) || status=$?
        fi
    }
    children() { (($(grep -c '^child ok$' <<<"$output") == $1)); }
    parents() { (($(grep -c '^ok [0-9]*$' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }
    family 1 1 "$clients/mpi_siblings" siblings 2
    ok "MPI_Intercomm_create between two spawned jobs, over their parent" eval 'passed && parents 1 && children 4'
    family 3 3 "$clients/mpi_siblings" siblings 4
    ok "the same with parents and children on three hosts" eval 'passed && parents 3 && children 8'
    family 2 1 "$clients/mpi_siblings" shared 3
    ok "MPI_COMM_TYPE_SHARED joins parents and children" eval 'passed && parents 2 && children 3'
    family 3 3 "$clients/mpi_siblings" shared 5
    ok "the same on three hosts, those of each" eval 'passed && parents 3 && children 5'
else
    skip "MPI_COMM_TYPE_SHARED joins parents and children" "no mpicc"
    skip "the same on three hosts, those of each" "no mpicc"
    skip "MPI_Intercomm_create between two spawned jobs, over their parent" "no mpicc"
    skip "the same with parents and children on three hosts" "no mpicc"
fi
[[ $backend != slurm ]] || ok "nothing is left" no_litter 20
done_testing
