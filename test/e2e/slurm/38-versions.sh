#!/bin/bash
# Where hosts do not have the same pmixhost, as in the middle of an upgrade, a step is told so at its start.
. "$(dirname "$0")/../common/words.sh"

plugin_dir=$(sed -n 's/^PluginDir=//p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
plugin_dir=${plugin_dir%%:*}
# A pmixhost whose daemons speak something else: what begins a step's description is another word of the same length.
parts=("$plugin_dir/mpi_pmixhost.so" "${plugin_dir%/slurm*}/pmixhost/backend_slurm.so")
for part in "${parts[@]}"; do
    sed 's/pmixhost2/pmixhost9/g' "$part" >"$test_dir/${part##*/}"
    ok "another ${part##*/} is there" bash -c '! cmp -s "$1" "$2"' cmp "$part" "$test_dir/${part##*/}"
    chmod 755 "$test_dir/${part##*/}"
done
exchanged=
exchange() { # HOST
    local part
    exchanged=$1
    for part in "${parts[@]}"; do on_host "$1" mount --bind "$test_dir/${part##*/}" "$part"; done
}
# A slurmstepd that just ends may still have it open.
restore() { # HOST
    local part
    for part in "${parts[@]}"; do
        until_true 20 on_host "$1" umount "$part" 2>/dev/null || on_host "$1" umount -l "$part"
    done
    exchanged=
}
restore_at_end() {
    local code=$?
    [[ -z $exchanged ]] || restore "$exchanged"
    (exit "$code")
    test_end
}
trap restore_at_end EXIT

exchange head
run_srun -N2 -n2 "$clients/hello"
ok "srun with another pmixhost than the hosts'" failed
like "is told which host has what" "$output" \
    "pmixhost: n[12]: .*has pmixhost [0-9.]+, srun where it was started another one.*the same pmixhost must be on all hosts"
ok "soon" ended_in_time
restore head

exchange "$(host_name 2)"
run_srun -N2 -n2 "$clients/hello"
ok "one host with another pmixhost" failed
like "is named" "$output" "pmixhost: $(host_name 2): .*the same pmixhost must be on all hosts"
run_srun -w "$(host_name 1)" -N1 -n1 "$clients/hello"
ok "steps elsewhere run" says_ok 1
restore "$(host_name 2)"
run_srun -N2 -n2 "$clients/hello"
ok "where all have the same again, it runs" says_ok 2
done_testing
