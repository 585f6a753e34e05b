#!/bin/bash
# A cluster whose hosts have no IPv4 addresses but that of the loopback interface.
. "$(dirname "$0")/../common/words.sh"

own_cluster ipv6 --ipv6-only || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
# Open MPI 4.1 does not see that its own port is one that nobody has an address for.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_disable_family=4

is "there is no IPv4" "$(on_host n1 ip -4 -br addr show dev eth0)" ""
each_way
if [[ -x $clients/mpi_init ]]; then
    run_srun -N2 -n4 "$clients/mpi_allreduce"
    ok "Open MPI" says_ok 4
else
    skip "Open MPI" "there was no mpicc"
fi
ok "nothing is left" no_litter 30
done_testing
