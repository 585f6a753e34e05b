#!/bin/bash
# mpi.remedies: variables that keep faults of other libraries away from tasks reach them where they are needed, and
# only there.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

unset OMPI_MCA_reachable OMPI_MCA_coll_han_priority PMIX_MCA_gds PMIXHOST_MPI_REMEDIES
has_ipv6() { # the cluster's hosts have it (run-slurm)
    [[ $backend == slurm ]] || ip -6 -o addr show scope global 2>/dev/null | grep -q .
}
show='echo "reachable=$OMPI_MCA_reachable gds=$PMIX_MCA_gds. coll=$OMPI_MCA_coll_han_priority "'
# shown TEXT: both tasks had that
shown() { (($(grep -cF -- "$1" <<<"$output") == 2)); }

if has_ipv6; then
    job 2 1 sh -c "$show"
    ok "a task has the remedy for addresses of IPv6" shown "reachable=weighted"
    export OMPI_MCA_reachable=netlink
    job 2 1 sh -c "$show"
    ok "what the user has set stays" shown "reachable=netlink"
    unset OMPI_MCA_reachable OMPI_MCA_coll_han_priority
else
    skip "a task has the remedy for addresses of IPv6" "this machine has no such address"
    skip "what the user has set stays" "this machine has no such address"
fi
# One that leaves room for children; on the local backend each does.
if [[ $backend == slurm ]]; then
    run salloc -Q -N2 --ntasks-per-node=2 srun "$mpi" -N2 -n2 sh -c "$show"
else
    job 2 1 sh -c "$show"
fi
ok "a task that may spawn has the remedy for merged communicators" shown "coll=-1 "
if [[ $backend == slurm ]]; then
    run_srun -N2 -n2 sh -c "$show"
    ok "one in a full allocation has not" shown "coll= "
fi
configure '[mpi]' 'remedies = []'
job 2 1 sh -c "$show"
ok "none where the administrator wants none" shown "reachable= gds=."
configure
export PMIXHOST_MPI_REMEDIES=pmix-store
job 2 1 sh -c "$show"
ok "nor those that the user does not name" shown "reachable= "
unset PMIXHOST_MPI_REMEDIES

# Not a fault's remedy, but the same variable: where a task looks up what its library knows.
export PMIXHOST_MODEX_STORE=own
job 2 1 sh -c "$show"
ok "tasks have the store to themselves where the user wants it" shown "gds=hash."
client 2 2 modex all
ok "and find each other's data" all_ok 4
export PMIXHOST_MODEX_STORE=shared
job 2 1 sh -c "$show"
ok "or shared" shown "gds=. "
client 2 2 modex all
ok "and find each other's data there" all_ok 4
unset PMIXHOST_MODEX_STORE
done_testing
