#!/bin/bash
# What mpi4py (package python3-mpi4py) brings of its own: its benchmarks, and a pool of workers, which it gets
# by MPI_Comm_spawn.
. "$(dirname "$0")/../words.sh"
needs /usr/lib/python3/dist-packages/mpi4py python3-mpi4py
python=/usr/bin/python3

run_srun -N 4 -n 8 $python -m mpi4py.bench helloworld
is "helloworld: 8 processes on 4 hosts" "$(grep -c '^Hello, World! I am process [ 0-9]* of 8 on n' <<<"$output")" 8
run_srun -N 4 -n 4 $python -m mpi4py.bench ringtest -n 1000 -l 10
like "ringtest" "$output" 'time for 10 loops'
cat >"$test_dir/pool.py" <<'PY'
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

def square(n):
    return n * n, MPI.COMM_WORLD.size

if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=3) as pool:
        answers = list(pool.map(square, range(100)))
    assert [n for n, _ in answers] == [n * n for n in range(100)]
    assert {size for _, size in answers} == {3}, answers
    print("squares are right", flush=True)
PY
run salloc -Q -N 2 -n 6 srun "$mpi" -N 1 -n 1 $python "$test_dir/pool.py"
like "a pool of three spawned workers" "$output" 'squares are right'
ok "and it ends well" passed
done_testing
