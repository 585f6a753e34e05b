#!/bin/bash
# Where srun does not have the pmixhost of the hosts, as in the middle of an upgrade, a step is told so at its start.
. "$(dirname "$0")/../common/words.sh"

plugin_dir=$(sed -n 's/^PluginDir=//p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
plugin=${plugin_dir%%:*}/mpi_pmixhost.so
# A pmixhost whose daemons speak something else: what srun writes first of a step is another word of the same length.
# (What a host reads is in the unit test slurm_task_map: a compiler makes numbers of the words that it compares.)
sed 's/pmixhost2/pmixhost9/g' "$plugin" >"$test_dir/other.so"
ok "another pmixhost is there" bash -c '! cmp -s "$1" "$2"' cmp "$plugin" "$test_dir/other.so"
chmod 755 "$test_dir/other.so"

exchanged=
restore() {
    uncover head "$plugin"
    exchanged=
}
restore_at_end() {
    local code=$?
    [[ -z $exchanged ]] || restore
    (exit "$code")
    test_end
}
trap restore_at_end EXIT

exchanged=yes
cover head "$plugin" "$test_dir/other.so"
for hosts in 1 2; do
    run_srun -N$hosts -n2 "$clients/hello"
    ok "srun with another pmixhost than that of $hosts hosts" failed
    like "is told which host has what" "$output" \
        "pmixhost: n[0-9]+: .*has pmixhost [0-9.]+, srun where it was started another one.*the same pmixhost must be on all hosts"
    ok "soon" ended_in_time
done
restore
run_srun -N2 -n2 "$clients/hello"
ok "where all have the same again, it runs" says_ok 2
done_testing
