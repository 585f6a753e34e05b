#!/bin/bash
# A job that has asked for so many GPUs in all (--gpus): a step that names none asks for all of them, which a part of the
# job's hosts does not have. Neither the session's step nor that of spawned processes may fail for it.
. "$(dirname "$0")/../common/words.sh"

own_cluster gpus --gpus 4 || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
export CLIENT_DIR=$test_dir/clients
mkdir -m 777 "$CLIENT_DIR"
h1=$(host_name 1) h2=$(host_name 2)
one="srun $mpi --gres=none --overlap -N1 -n1"
has='echo on $SLURMD_NODENAME: $CUDA_VISIBLE_DEVICES'

in_job() { run salloc -Q -N2 --ntasks-per-node=4 --gpus=8 bash -c "$1"; }
in_job "$one -w $h1 $clients/connect pair k A B 1 words & $one -w $h2 $clients/connect pair k B A 1 words & wait"
verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
ok "two of its steps meet" so_many_ok 2
for host in "$h1" "$h2"; do
    in_job "$one -w $h1 $clients/spawn count=2 pmix.host=$host -- /bin/sh -c '$has'"
    ok "processes are spawned on $host alone" passed
    like "and have its GPUs" "$output" "on $host: [0-3]"
done
in_job "$one -w $h1 $clients/spawn count=2 pmix.mapby=node -- /bin/sh -c '$has'"
is "or on both" "$(grep -o '^on n[0-9]' <<<"$output" | sort | paste -sd' ')" "on $h1 on $h2"
# Two tasks of an array: of the one that has the array's number slurmctld tells the other one as well.
run sbatch --wait --array=0-1 -N2 --ntasks-per-node=4 --gpus=4 -o "$test_dir/array.%a" --wrap \
    "$one $clients/spawn count=1 -- /bin/sh -c 'echo has: \$CUDA_VISIBLE_DEVICES'"
is "in each task of an array they have some" "$(cat "$test_dir"/array.[01] | grep -c '^has: [0-3]')" 2
ok "nothing is left" no_litter 30
done_testing
