#!/bin/bash
# A cluster whose hosts have no IPv4 addresses but that of the loopback interface.
. "$(dirname "$0")/../common/words.sh"

own_cluster ipv6 --ipv6-only || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
# Open MPI 4.1 does not see that its own port is one that nobody has an address for.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_disable_family=4
says_ok() { passed && (($(grep -c '^ok [0-9]*' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }

is "there is no IPv4" "$(on_host n1 ip -4 -br addr show dev eth0)" ""
for program in hello modex fence_data; do
    run_srun -N2 -n4 "$clients/$program"
    ok "$program" says_ok 4
done
run_srun -N2 -n3 "$clients/publish" rules
ok "publish and lookup, over the session" says_ok 3
run salloc -Q -N2 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=2
is "spawn, over the launcher beside srun" "$(grep -c '^child [01] of 2' <<<"$output")" 2
run_srun -N2 -n2 "$clients/abort" all 42 words
is "an abort comes to srun" "$status" 42
if [[ -x $clients/mpi_init ]]; then
    run_srun -N2 -n4 "$clients/mpi_allreduce"
    ok "Open MPI" says_ok 4
else
    skip "Open MPI" "there was no mpicc"
fi
ok "nothing is left" no_litter 30
done_testing
