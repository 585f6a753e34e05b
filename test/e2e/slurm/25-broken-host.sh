#!/bin/bash
# A host on which pmixhost's daemon cannot be started ends the whole step, with the reason: also where no other host
# would miss it, and all components of a het step.
. "$(dirname "$0")/../common/words.sh"

plugins=$(sed -n 's/^PluginDir=\([^:]*\).*/\1/p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
daemon=${plugins%/lib/slurm}/libexec/pmixhost/pmixhostd
: >"$test_dir/no-program"
chmod 644 "$test_dir/no-program"

broken=
break_host() { # HOST
    cover "$1" "$daemon" "$test_dir/no-program"
    broken=$1
}
mend_host() {
    uncover "$broken" "$daemon"
    broken=
}
mend_at_end() {
    local code=$?
    [[ -z $broken ]] || mend_host
    (exit "$code")
    test_end
}
trap mend_at_end EXIT

# What runs on the others needs nobody, and would go on for a minute and a half.
ends_soon() { # WHAT; with the output and status of a job that began at $begin
    ok "$1 fails" failed
    like "$1 says which host, and why" "$output" "pmixhost: $victim: .*pmixhostd"
    ok "$1 ends at once, not when its other processes do" test $((SECONDS - begin)) -lt 40
    unlike "$1 ends without a complaint of Slurm's own" "$output" "slurmstepd: (fatal|error): .*(lock|auth)"
}

for number in 2 4; do
    victim=$(host_name $number)
    break_host "$victim"
    begin=$SECONDS
    run_srun -N4 -n4 sleep 90
    ends_soon "a step whose host $number is broken"
    mend_host
done

victim=$(host_name 3)
break_host "$victim"
begin=$SECONDS
run salloc -Q -N1 -n1 -w "$(host_name 1)" : -N1 -n1 -w "$victim" srun "$mpi" --het-group=0,1 sleep 90
ends_soon "a het step whose second component is broken"
begin=$SECONDS
run srun "$mpi" -N1 -n1 -w "$(host_name 1)" sleep 90 : -N1 -n1 -w "$victim" sleep 90
ends_soon "and one that has made its allocation itself"
mend_host

run_srun -N4 -n4 "$clients/hello"
ok "then all is well" says_ok 4
done_testing
