# A gate with a door on the head host, and users who come there: what the tests of it share. After common/words.sh, on
# Slurm.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the tests

gate=$PMIXHOST_BUILD/server-glue/pmixhost-gate gate_log=$test_dir/gate.log log=$test_dir/daemons.log
pmixhost=$PMIXHOST_BUILD/tools/pmixhost door=$test_dir/gate
chmod 1777 "$test_dir"
on_host head install -d -o nobody "$door"
owner() { as_user pmixuser1 timeout -k 5 60 "$@" 2>&1; }
another() { as_user pmixuser2 timeout -k 5 60 "$@" 2>&1; }
logged() { until_true 10 grep -qE "$1" "$gate_log"; } # which a thread of its own writes
open_gate() {
    : >"$gate_log"
    on_host head "$gate" --user nobody >"$gate_log" 2>&1 </dev/null &
    gate_job=$!
    until_true 20 logged 'served at tcp4://127'
}
close_gate() {
    on_host head pkill -TERM -x pmixhost-gate
    wait "$gate_job"
}
