#!/bin/bash
# Open MPI programs, from 2 to 64 ranks on 1 to 8 hosts (as many as the cluster has).
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

if [[ ! -x $clients/mpi_init ]]; then
    echo "1..0 # SKIP there was no mpicc"
    trap - EXIT
    exit 0
fi
# UCX looks past network namespaces; windows over TCP want the simplest component, which Open MPI 4
# still has.
export UCX_TLS=tcp,self
[[ $(ompi_info --version 2>/dev/null) == *' v4.'* ]] && export OMPI_MCA_osc=pt2pt
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
TEST_LIMIT=120

for shape in 1x2 2x1 2x2 3x2 4x4 8x1 8x2; do
    h=${shape%x*} p=${shape#*x}
    ((h <= host_limit)) || continue
    for program in init ring allreduce onesided intercomm; do
        client "$h" "$p" "mpi_$program"
        ok "Open MPI: $program, $shape" all_ok $((h * p))
    done
done
TEST_LIMIT=240 # two processors, which compilers may use too
client 4 16 mpi_init
ok "Open MPI: init, 64 ranks on 4 hosts" all_ok 64
client 1 16 mpi_allreduce
ok "Open MPI: allreduce, 16 ranks on one host" all_ok 16
job_options=("${by_node[@]}")
client 3 3 mpi_intercomm
ok "Open MPI: intercomm, ranks dealt out to the hosts" all_ok 9
job_options=()
if /usr/bin/python3 -c "import mpi4py" 2>/dev/null; then # the distribution's
    cat >"$test_dir/hello.py" <<'PY'
from mpi4py import MPI
c = MPI.COMM_WORLD
assert c.allreduce(c.rank) == c.size * (c.size - 1) // 2
print("ok", c.rank, flush=True)
PY
    job 2 2 /usr/bin/python3 "$test_dir/hello.py"
    ok "mpi4py: allreduce of objects" all_ok 4
else
    skip "mpi4py: allreduce of objects" "no mpi4py"
fi

done_testing
