#!/bin/bash
# The HPC Challenge benchmarks (package hpcc): all its parts check their own results.
. "$(dirname "$0")/../words.sh"
input=/usr/share/doc/hpcc/examples/_hpccinf.txt
needs $input hpcc
TEST_LIMIT=400

cd "$test_dir" || exit
# A small problem: it is the communication that is tried here, on two CPUs.
sed -e 's/^1000\( *Ns\)/200\1/' "$input" >hpccinf.txt
run_srun -N 4 -n 4 hpcc
ok "hpcc, 4x1, ends well" passed
summary=$(cat "$test_dir/hpccoutf.txt" 2>/dev/null)
like "it came to its end" "$summary" 'End of HPC Challenge tests'
like "all its parts were right" "$summary" 'Success=1'
done_testing
