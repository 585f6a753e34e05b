#!/bin/bash
# Process sets: how they are named, and who knows of them.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

# with_sets SETS HOSTS RANKS-PER-HOST CLIENT ...: defined by the environment of the launcher
with_sets() {
    export PMIXHOST_PSETS=$1
    shift
    client "$@"
    unset PMIXHOST_PSETS
}
# programs [OPTIONS] -n N CLIENT ARGUMENT ... : -n N CLIENT ARGUMENT ...: a job of several programs
programs() {
    status=0
    output=$(timeout -k 5 "$TEST_LIMIT" "$PMIXHOST_RUN" run "$@" 2>&1 </dev/null) || status=$?
    verdicts=$output
}

client 2 2 sets none
ok "a job of one program has no process set" all_ok 4
for shape in 1x4 2x2 4x1; do
    with_sets "ocean=0-2;atmo=1,3;all=*" "${shape%x*}" "${shape#*x}" sets names "ocean=0-2;atmo=1,3;all=0-3"
    ok "process sets of the environment, $shape" all_ok 4
done

# All at once, as srun waits for KillWait and 2 s more for the end of a step that has not begun.
bad_sets=("ocean=0-4:there is no rank 4" "ocean=3-1:'3-1' is not a rank" "ocean:'ocean' has no ranks" "=1:has no name"
    "a b=1:has no space" "a=0;a=1:'a' is defined twice" "a=x:'x' is not a rank")
refusals=()
for i in "${!bad_sets[@]}"; do
    (
        CLIENT_DIR=$(mktemp -d "$test_dir/bad.XXXXXX")
        chmod 1777 "$CLIENT_DIR"
        with_sets "${bad_sets[i]%%:*}" 2 2 sets none
        declare -p status too_late output verdicts >"$test_dir/refusal.$i"
    ) &
    refusals+=($!)
done
wait "${refusals[@]}"
for i in "${!bad_sets[@]}"; do
    wrong=${bad_sets[i]}
    status=0 output='' verdicts=''
    # shellcheck source=/dev/null # written above
    . "$test_dir/refusal.$i"
    ok "a bad process set is refused before the job starts: ${wrong%%:*}" eval "failed && so_many_ok 0"
    like "and the reason is told: ${wrong%%:*}" "$output" "PMIXHOST_PSETS: .*${wrong#*:}"
done

client 2 2 sets spawn "kids=0-1;sets.1=2-3"
verdicts=$output
ok "PMIX_PSET_NAME of a spawned program" all_ok 8

if [[ $backend == slurm ]]; then
    expected="ocean=0-2;odd=3;atmo=4-5"
    ln -sf "$clients/sets" "$test_dir/ocean"
    ln -sf "$clients/sets" "$test_dir/atmo"
    printf '%s\n' "0-2 $test_dir/ocean names '$expected'" "3 $clients/sets names '$expected'" \
        "* $test_dir/atmo names '$expected'" >"$test_dir/multi"
    export PMIXHOST_PSETS="odd=3"
    run_srun -O -N3 -n6 --multi-prog "$test_dir/multi"
    unset PMIXHOST_PSETS
    verdicts=$output
    ok "--multi-prog: each program is a set, but one that has been named" all_ok 6
    expected="sets.0=0-1;sets.1=2-4"
    run srun "$mpi" -N1 -n2 "$clients/sets" names "$expected" : -N1 -n3 "$clients/sets" names "$expected"
    verdicts=$output
    ok "the components of a het step are sets" all_ok 5
    expected="both=1-3;last=4;sets.0=0-1;sets.1=2-4"
    export PMIXHOST_PSETS="both=1-3;last=4"
    run srun "$mpi" -N1 -n2 "$clients/sets" names "$expected" : -N2 -n3 "$clients/sets" names "$expected"
    verdicts=$output
    ok "process sets of the environment count the ranks of a het step through its components" all_ok 5
    export PMIXHOST_PSETS="both=1-5"
    run srun "$mpi" -N1 -n2 "$clients/sets" none : -N2 -n3 "$clients/sets" none
    unset PMIXHOST_PSETS
    like "and refuse a rank that no component has" "$output" "PMIXHOST_PSETS: .*there is no rank 5"
    pair="PMIXHOST_PSETS='ocean=0,2;both=1' srun $mpi -N2 -n3 --overlap $clients/connect sets k A B 'ice=0;snow=1-3' &
        PMIXHOST_PSETS='ice=0;snow=1-3' srun $mpi -N2 -n4 -r1 --overlap $clients/connect sets k B A 'ocean=0,2;both=1' & wait"
    run salloc -Q -N3 --ntasks-per-node=8 bash -c "$pair"
    verdicts=$output
    ok "a job's sets are defined when it connects and deleted when it disconnects, at all processes" so_many_ok 7
else
    expected="ocean=0-1;sets.1=2-4"
    programs --hosts 2 -n 2 --pset ocean "$clients/sets" names "$expected" : -n 3 "$clients/sets" names "$expected"
    ok "pmixhost run --pset, and a program without a name" all_ok 5
    expected="ocean=0-4;sets.0=0-1;sets.1=2-4"
    programs --hosts 2 -n 2 --pset ocean "$clients/sets" names "$expected" : \
        -n 3 --pset ocean "$clients/sets" names "$expected"
    ok "two programs of one set" all_ok 5
    programs -n 1 --pset "a b" "$clients/sets" none
    like "a bad name is refused" "$status $output" "^2 .*--pset: .*'a b'.*no space"
fi
done_testing
