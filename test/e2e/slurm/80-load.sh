#!/bin/bash
# Many ranks, many steps, one after the other and at once.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=180

CLIENT_LIMIT=150 client 4 32 hello
ok "128 ranks on 4 hosts" all_ok 128
client 4 16 barrier 2 200
ok "a barrier of 64 ranks" all_ok 64
client 4 16 fence_data 1000 2 2
ok "64 ranks collect data" all_ok 64
client 4 8 modex all
ok "32 ranks, each asks each" all_ok 32
client 4 8 fence_sub concurrent
ok "32 ranks in overlapping fences" all_ok 32

run salloc -N4 --ntasks-per-node=2 bash -c "for i in \$(seq 20); do srun $mpi $clients/fence_data 64 || exit 1; done"
verdicts=$output
ok "twenty steps one after the other" all_ok 160

run salloc -N4 --ntasks-per-node=8 bash -c "for i in \$(seq 10); do
    srun $mpi --overlap -N4 -n8 $clients/fence_data 4096 2 3 & done; wait"
verdicts=$output
ok "ten steps of a job at once" all_ok 80

busy() { # N jobs of two users at once
    local user pids=() i result=0
    for i in $(seq "$1"); do
        user=pmixuser$((1 + i % 2))
        (cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "${on_cluster[@]}" --user $user -- \
            srun "$mpi" -N4 -n8 "$clients/modex" all >"$test_dir/busy.$i" 2>&1 </dev/null) &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || result=1; done
    output=$(cat "$test_dir"/busy.*) verdicts=$output
    return $result
}
ok "eight jobs of two users at once" busy 8
ok "and all ranks of all were served" so_many_ok 64
ok "nothing is left of all that" no_litter 30

done_testing
