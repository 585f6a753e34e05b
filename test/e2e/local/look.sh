#!/bin/bash
# pmixhost stacks and pmixhost debug where the hosts of a job are virtual ones of this machine, and no resource manager's
# program leads to them. All else is tried in slurm/69-stacks.sh and slurm/74-debug.sh.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../hanging_job.sh"

begin 2 2 "$clients/mpi_hang" "$go"
processes >"$test_dir/processes"
status=0
output=$(asks "$pmixhost" stacks "$job" 2>&1) || status=$?
like "the stacks of all hosts" "$status $output" $'^0 .*: 2 of 2 ranks on 2 hosts.*\n0 +[+] waits_for_a_word.*\n1 +[+] meets_the_others'
ok "all run on" all_run
status=0
output=$(asks "$pmixhost" debug --attach "$job" -e 'print 6*7' 2>&1 </dev/null) || status=$?
like "gdb on all hosts" "$status $output" $'^0 .*\n''\[0-1\] \$1 = 42'
ok "and they run on" until_true 20 all_run
ok "the job ends well" ends_well 2
done_testing
