#!/bin/bash
# A slurmctld that does not answer: questions to it have bounds and deadlines, and no daemon stays for
# one. On a cluster of its own, where Slurm itself would wait for minutes.
. "$(dirname "$0")/../lib.sh"

own_cluster deaf --conf MessageTimeout=100 || { echo "Bail out! ${said##*$'\n'}"; exit 1; }

no_daemon() { ! on_host n1 pgrep -x pmixhostd >/dev/null && ! on_host n2 pgrep -x pmixhostd >/dev/null; }
in_file() { output=$(cat "$test_dir/out" 2>&1) && grep -q "$@" <<<"$output"; }

run true
: >"$test_dir/out" && chmod 666 "$test_dir/out"
TEST_LIMIT=200 run bash -c "srun $mpi -N2 $PMIXHOST_CLIENTS/questions 300 $test_dir/go 10 >$test_dir/out 2>&1" &
job=$!
ok "a job runs" until_true 60 eval '[[ $(grep -c ^begun "$test_dir/out") == 2 ]]'
on_host head pkill -STOP -x slurmctld
touch "$test_dir/go"
ok "questions that cannot be answered end in time" until_true 30 in_file '^ok 1'
like "and only so many of them wait" "$output" 'answers TIMEOUT=65 OUT-OF-RESOURCE=235 SUCCESS=0 other=0'
# Well before the 100 s that libslurm waits for.
ok "no daemon stays for the answer" until_true 30 no_daemon
on_host head pkill -CONT -x slurmctld
wait "$job"

rm -f "$test_dir/go"
: >"$test_dir/out"
TEST_LIMIT=200 run bash -c "srun $mpi -n1 $PMIXHOST_CLIENTS/allocate release id=1 await=$test_dir/go \
    new reqid=lost timeout=2 release id=1 timeout=2 >$test_dir/out 2>&1" &
job=$!
ok "another job runs" until_true 60 in_file '^release PMIX_ERR_NOT_FOUND'
on_host head pkill -STOP -x slurmctld
touch "$test_dir/go"
ok "an allocation that cannot be asked for ends in time" until_true 30 in_file '^ok 0'
is "and its caller is told" "$(sed -n 's/ after.*//p' <<<"$output")" "release PMIX_ERR_NOT_FOUND
new PMIX_ERR_TIMEOUT
release PMIX_ERR_TIMEOUT"
ok "and no daemon stays for it" until_true 30 no_daemon
on_host head pkill -CONT -x slurmctld
wait "$job"
ok "nor does an allocation that nobody knows of" until_true 60 no_jobs

rm -f "$test_dir/go"
: >"$test_dir/out"
TEST_LIMIT=200 run bash -c "srun $mpi -n1 bash -c 'echo begun; until [ -e $test_dir/go ]; do sleep 0.1; done
    exec $PMIXHOST_CLIENTS/spawn status=ERROR' >$test_dir/out 2>&1" &
job=$!
ok "a job that is to spawn runs" until_true 60 in_file '^begun'
on_host head pkill -STOP -x slurmctld
touch "$test_dir/go"
ok "its launcher asks slurmctld for the allocation" until_true 30 on_host head pgrep -x pmixhostd
on_host head pkill -TERM -x pmixhostd
ok "and hears all the same that it is to end its jobs" until_true 30 in_file '^refused'
on_host head pkill -CONT -x slurmctld
wait "$job"

run srun "$mpi" -n2 "$PMIXHOST_CLIENTS/hello"
ok "and the next job runs" passed
done_testing
