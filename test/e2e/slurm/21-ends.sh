#!/bin/bash
# What srun's own options and signals do to a job of pmixhost: as they do to any (contrib/doc/semantics.md).
. "$(dirname "$0")/../lib.sh"

TEST_LIMIT=40
# shellcheck disable=SC2016 # for the tasks' shell
run_srun -N2 -n2 -W 2 sh -c 'test $SLURM_PROCID = 1 || exec sleep 300'
ok "--wait: the first end ends all a little later" eval 'failed && [[ $status == 137 ]]'
run bash -c "echo one | srun -Q $mpi -N2 -n2 -l cat | sort"
is "standard input reaches all tasks" "$output" $'0: one\n1: one'
# shellcheck disable=SC2016 # for the tasks' shell
told='trap "echo told; touch '$test_dir'/told.$SLURM_PROCID" USR1; touch '$test_dir'/ready.$SLURM_PROCID; until [ -e '$test_dir'/over ]; do sleep 0.1; done'
run bash -c "srun $mpi -N2 -n2 sh -c '$told' & job=\$!
    until [ -e $test_dir/ready.0 ] && [ -e $test_dir/ready.1 ]; do sleep 0.1; done
    kill -USR1 \$job
    until [ -e $test_dir/told.0 ] && [ -e $test_dir/told.1 ]; do sleep 0.1; done
    touch $test_dir/over; wait \$job"
is "SIGUSR1 to srun reaches all tasks" "$(grep -c '^told' <<<"$output")" 2
ok "and ends none" passed
ok "nothing is left" no_litter 30
done_testing
