#!/bin/bash
# A slurmctld that is away, longer than libslurm tries to reach it, when a step shall be ended: it is ended when
# slurmctld is back. On a cluster of its own, where libslurm gives up soon.
. "$(dirname "$0")/../lib.sh"

own_cluster away --conf MessageTimeout=2 || { echo "Bail out! ${said##*$'\n'}"; exit 1; }

in_file() { output=$(cat "$test_dir/out" 2>&1) && grep -q "$@" <<<"$output"; }
both_have_begun() { [[ $(grep -c ^begun "$test_dir/out") == 2 ]]; }

run true
: >"$test_dir/out" && chmod 666 "$test_dir/out"
TEST_LIMIT=100 run bash -c "srun $mpi -N1 -n2 bash -c 'echo begun; until [ -e $test_dir/go ]; do sleep 0.1; done
    exec $PMIXHOST_CLIENTS/abort all 7 because' >$test_dir/out 2>&1; echo ended \$? >>$test_dir/out" &
job=$!
ok "a job runs" until_true 60 both_have_begun
on_host head pkill -TERM -x slurmctld
ok "slurmctld has gone" until_true 30 eval '! on_host head pgrep -x slurmctld >/dev/null'
touch "$test_dir/go"
sleep 15 # so long it is away; the job gives itself 40 s
on_host head slurmctld -f "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf"
ok "a job that has been aborted meanwhile is ended when slurmctld is back" until_true 60 in_file '^ended 7'
unlike "and not by itself" "$output" 'still waiting'
like "the user is told why" "$output" 'rank 1 on n1 called PMIx_Abort with status 7: because'
wait "$job"
done_testing
