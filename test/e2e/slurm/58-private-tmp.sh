#!/bin/bash
# slurmd with a /tmp of its own (PrivateTmp= in its unit). The daemons of steps and the tasks are in it; tools of the host
# look in the host's, where nothing is, unless pmixhost.conf names a directory outside.
. "$(dirname "$0")/../common/words.sh"

own_cluster private-tmp || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
host=$(host_name 1) pmixhost=$PMIXHOST_BUILD/tools/pmixhost base=/run/steps

# As systemd does it: a mount namespace in which another directory is /tmp. What all hosts share is in that one too.
private='set -e
mount -n -t tmpfs -o mode=1777 tmpfs /mnt
for each in /tmp/*/; do
    [[ ! -d $each ]] || { mkdir "/mnt${each#/tmp}"; mount -n --rbind "$each" "/mnt${each#/tmp}"; }
done
mount -n --rbind /mnt /tmp
exec "$@"'
for each in $(hosts_of_cluster); do
    on_host "$each" pkill -x slurmd
    until_true 20 eval '! on_host "$each" pgrep -x slurmd >/dev/null'
    on_host "$each" unshare --mount --propagation private bash -c "$private" private \
        slurmd -N "$each" -f "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf"
done
all_idle() { (($(as_user root sinfo -h -N -t idle -o %N | wc -l) == 2)); }
ok "slurmd begins anew on both hosts" until_true 30 all_idle
run_srun -N2 -n2 sh -c 'touch /tmp/mine && ls /tmp/mine'
ok "it has a /tmp of its own" eval 'passed && ! on_host "$host" test -e /tmp/mine'
each_way

# job_runs: a job of two hosts that ends when it is told to.
go=$test_dir/go
job_runs() {
    rm -f "$go" "$test_dir"/up.*
    # shellcheck disable=SC2016 # for the tasks' shell
    (cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user "$TEST_USER" -- srun "$mpi" -N2 -n2 \
        sh -c 'touch up.$SLURM_PROCID; until [ -e go ]; do sleep 0.1; done') >"$test_dir/out" 2>&1 </dev/null &
    job_pid=$!
    until_true 30 eval '(($(ls "$test_dir"/up.* 2>/dev/null | wc -l) == 2))'
}
job_ends() { touch "$go" && wait "$job_pid"; }
there() { "${on_cluster[@]}" --user "$TEST_USER" --host "$host" -- timeout -k 5 60 "$@" 2>&1; }

ok "a job runs" job_runs
unlike "a tool of its host does not find it" "$(there "$pmixhost" servers --json)" '"job"'
ok "it ends well" job_ends
for each in $(hosts_of_cluster); do on_host "$each" mkdir -m 1777 "$base"; done
configure '[directory]' "base = \"$base\""
ok "with directory.base outside of /tmp, too, a job runs" job_runs
like "there a tool finds it" "$(there env PMIX_SYSTEM_TMPDIR="$base" "$pmixhost" servers --json)" '"job"'
ok "and it ends well" job_ends
configure
for each in $(hosts_of_cluster); do until_true 30 on_host "$each" rmdir "$base" 2>/dev/null; done # its daemon may outlive a job
ok "nothing is left" no_litter 30
done_testing
