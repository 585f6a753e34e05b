#!/bin/bash
# Where libpmix keeps what its clients map (directory.store): it has such files before libpmix 5.
. "$(dirname "$0")/../common/words.sh"

looks='ls -d /dev/shm/pmixhost-*/pmix_dstor* >/dev/null 2>&1 && echo in memory || echo elsewhere'
wanted="in memory"
[[ $("$PMIXHOST_BUILD/tools/pmixhost" version) != *"PMIx library "[5-9]* ]] || wanted=elsewhere
run_srun -N1 -n1 sh -c "$looks"
is "libpmix' files are in memory" "$output" "$wanted"
job 2 2 "$clients/hello"
ok "where they are found by all tasks" says_ok 4
if [[ $wanted != elsewhere ]]; then
    # shellcheck disable=SC2016 # of the task
    run_srun -N1 -n1 sh -c '"$0" >/dev/null && stat -c %s "$PMIX_DSTORE_21_BASE_PATH"/smseg-* "$PMIX_DSTORE_21_BASE_PATH"/smdataseg-*' \
        "$clients/hello"
    is "the index is as large as the job needs, and all that is posted has room" "$(paste -sd' ' <<<"$output")" "65536 4194304"
fi
configure '[directory]' 'store = "base"'
run_srun -N1 -n1 sh -c "$looks"
is "unless the site wants them where the daemon's are" "$output" elsewhere
job 2 2 "$clients/hello"
ok "where they are found, too" says_ok 4
configure
(cd "$test_dir" && exec timeout -k 5 60 "${on_cluster[@]}" --user "$TEST_USER" -- \
    srun "$mpi" -w "$(host_name 1)" -N1 -n1 sh -c 'echo there; exec sleep 50') >"$test_dir/out" 2>&1 </dev/null &
ok "a job runs" until_true 30 grep -q there "$test_dir/out"
on_host "$(host_name 1)" pkill -KILL -n -x pmixhostd
wait $!
ok "and ends with it" test $? -ne 0
no_store() { on_host "$(host_name 1)" sh -c '! ls -d /dev/shm/pmixhost-* 2>/dev/null'; }
ok "when its daemon is killed they are removed" until_true 20 no_store
configure
job_options=(-w "$(host_name 1)")
job 1 1 "$clients/hello" # which removes what else a killed daemon has left
job_options=()
ok "and nothing is left" no_litter 20
done_testing
