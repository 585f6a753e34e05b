#!/bin/bash
# MPI's dynamic processes with Debian's Open MPI and mpi4py: spawn in every form, join, and the
# executors of mpi4py.futures.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

python=/usr/bin/python3 # the distribution's, which has mpi4py
if [[ ! -x $clients/mpi_dynamic ]]; then
    skip "MPI's dynamic processes" "no mpicc"
    done_testing
    exit 0
fi

children() { (($(grep -c '^child ok$' <<<"$output") == $1)); }
parents() { (($(grep -c '^ok [0-9]*$' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }

dynamic 1 1 "$clients/mpi_dynamic" spawn 3 2
ok "MPI_Comm_spawn, one parent, three children, twice" eval 'passed && parents 1 && children 6'
dynamic 3 3 "$clients/mpi_dynamic" spawn 4 3
ok "MPI_Comm_spawn, parents on three hosts, three times" eval 'passed && parents 3 && children 12'
dynamic 2 1 "$clients/mpi_dynamic" spawn 16 1
ok "MPI_Comm_spawn of 16 children" eval 'passed && parents 2 && children 16'
dynamic 1 1 "$clients/mpi_dynamic" spawn 2 10
ok "MPI_Comm_spawn ten times in a loop" eval 'passed && parents 1 && children 20'
dynamic 1 1 "$clients/mpi_dynamic" deep 3
ok "MPI_Comm_spawn by children and grandchildren" eval 'passed && parents 1 && children 3'
dynamic 2 1 "$clients/mpi_dynamic" multiple
ok "MPI_Comm_spawn_multiple, each program knows its number" eval 'passed && parents 2 && children 3'
dynamic 3 3 "$clients/mpi_dynamic" self 2
ok "MPI_Comm_spawn by three ranks at once, each on its own" eval 'passed && parents 3 && children 6'
dynamic 2 2 "$clients/mpi_dynamic" missing
ok "MPI_Comm_spawn of a missing program is an error that MPI programs can live with" \
    eval 'passed && parents 2'
like "and the user is told" "$output" 'no/such/program'
dynamic 1 1 "$clients/mpi_dynamic" refused 5000
ok "MPI_Comm_spawn for which there is no room is an error that its root can live with" \
    eval 'passed && parents 1 && grep -q "^told 0" <<<"$output"'
dynamic 2 1 "$clients/mpi_dynamic" join "$test_dir/port"
ok "MPI_Comm_join" eval 'passed && parents 2'

if "$python" -c 'import mpi4py' 2>/dev/null; then
    cat >"$test_dir/pool.py" <<'PY'
from mpi4py.futures import MPIPoolExecutor
def square(x):
    return x * x
if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=3) as pool:
        print(list(pool.map(square, range(8))))
PY
    cat >"$test_dir/world.py" <<'PY'
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor
def square(x):
    return x * x
if __name__ == "__main__":
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as pool:
        if pool is not None:
            print(list(pool.map(square, range(8))))
PY
    dynamic 1 1 "$python" -m mpi4py.futures "$test_dir/pool.py"
    ok "mpi4py.futures.MPIPoolExecutor spawns its workers" \
        eval 'passed && grep -qF "[0, 1, 4, 9, 16, 25, 36, 49]" <<<"$output"'
    dynamic 1 1 "$python" "$test_dir/pool.py"
    ok "the same without -m mpi4py.futures" \
        eval 'passed && grep -qF "[0, 1, 4, 9, 16, 25, 36, 49]" <<<"$output"'
    dynamic 3 3 "$python" "$test_dir/world.py"
    ok "mpi4py.futures.MPICommExecutor over the world" \
        eval 'passed && grep -qF "[0, 1, 4, 9, 16, 25, 36, 49]" <<<"$output"'
else
    skip "mpi4py.futures" "no mpi4py"
fi
[[ $backend != slurm ]] || ok "nothing is left" no_litter 20
done_testing
