#!/bin/bash
# What a user of srun does every day works as ever with --mpi=pmixhost: ways to start a step, ways to
# lay it out, its input and output, several at once, and nothing of it is left when it has ended.
#
# The measure is Slurm itself: "hello" prints the rank and host that PMIx says, and the same layout
# started without PMIx prints what Slurm says.
. "$(dirname "$0")/../lib.sh"

hello=$PMIXHOST_CLIENTS/hello
slurm_says='echo rank $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME'

ranks() { grep -o 'rank [0-9]* of [0-9]* on [^ ]*' <<<"$output" | sort -V; }
expected_ranks() { seq -f "rank %g of $1" 0 $(($1 - 1)); }
ranks_only() { ranks | sed 's/ on .*//'; }

as_slurm_lays_out() { # DESCRIPTION SRUN-OPTION ...
    local description=$1 wanted
    shift
    until_true 20 none_clears_up || true # Slurm goes round a host that still clears up
    run srun --mpi=none "$@" sh -c "$slurm_says"
    wanted=$(ranks)
    [[ -n $wanted ]] || wanted="(Slurm itself: $output)"
    until_true 20 none_clears_up || true
    run_srun "$@" "$hello"
    is "$description" "$(ranks)" "$wanted"
}

# ------------------------------------------------------------------------------------- layouts

as_slurm_lays_out "one task" -n1
as_slurm_lays_out "-N4 -n8" -N4 -n8
as_slurm_lays_out "-m block" -N4 -n8 -m block
as_slurm_lays_out "-m cyclic" -N4 -n10 -m cyclic
as_slurm_lays_out "-m plane=2" -N3 -n11 -m plane=2
as_slurm_lays_out "tasks that do not divide evenly" -N4 -n7
as_slurm_lays_out "--ntasks-per-node" -N2 --ntasks-per-node=3

printf '%s\n' n3 n1 n1 n4 n3 >"$test_dir/hostfile"
export SLURM_HOSTFILE=$test_dir/hostfile
as_slurm_lays_out "-m arbitrary with SLURM_HOSTFILE" -m arbitrary -n5
unset SLURM_HOSTFILE

for n in 1 2 16 64 128; do
    CLIENT_LIMIT=100 TEST_LIMIT=120 run_srun -N1 -O -n "$n" "$hello"
    is "$n tasks on one host" "$(ranks_only)" "$(expected_ranks "$n")"
done

# ---------------------------------------------------------------- where a step may be started

run salloc -N2 -n4 srun "$mpi" "$hello"
is "srun in salloc" "$(ranks_only)" "$(expected_ranks 4)"

cat >"$test_dir/job" <<TXT
#!/bin/bash
srun $mpi -n4 $hello
TXT
run sbatch --wait -N2 -n4 -o "$test_dir/job.out" "$test_dir/job"
output+=$(cat "$test_dir/job.out" 2>&1)
is "srun in sbatch" "$(ranks_only)" "$(expected_ranks 4)"

run salloc -N2 -n4 bash -c "srun $mpi -n4 sh -c '$hello; exec sleep 1000' & sleeper=\$!
    until squeue -h -s -j \$SLURM_JOB_ID | grep -q .; do :; done
    srun $mpi --overlap -n4 $hello
    kill -TERM \$sleeper; wait \$sleeper"
like "--overlap beside a step that holds all CPUs" "$too_late$(ranks_only)" "^rank.*rank 3 of 4"

CLIENT_LIMIT=100 TEST_LIMIT=120 run salloc -N4 bash -c "for i in 1 2 3 4 5 6 7 8; do
        srun $mpi --overlap -N4 -n4 -o step.%s.out $hello & done; wait"
output=$(cat "$test_dir"/step.*.out 2>&1)
is "eight steps of a job at once" "$(ranks_only | uniq -c | tr -s ' ')" \
    "$(expected_ranks 4 | sed 's/^/ 8 /')"

two_users() {
    local user pids=() result=0
    for user in pmixuser1 pmixuser2; do
        for i in 1 2 3; do
            (cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "${on_cluster[@]}" --user $user -- \
                srun "$mpi" -N4 -n8 "$hello" >"$test_dir/$user.$i" 2>&1 </dev/null) &
            pids+=($!)
        done
    done
    for pid in "${pids[@]}"; do wait "$pid" || result=1; done
    output=$(cat "$test_dir"/pmixuser?.?)
    return $result
}
CLIENT_LIMIT=100 TEST_LIMIT=120 ok "jobs of two users at once, on the same hosts" two_users
is "and each had its own ranks" "$(ranks_only | uniq -c | tr -s ' ')" \
    "$(expected_ranks 8 | sed 's/^/ 6 /')"

# ------------------------------------------------------------------------------- het jobs, MPMD

run srun "$mpi" -N1 -n2 "$hello" : -N2 -n3 "$hello"
is "a het job is one job for PMIx" "$(ranks_only)" "$(expected_ranks 5)"

run salloc -N1 -n2 : -N2 -n3 srun "$mpi" --het-group=0,1 "$hello"
is "srun --het-group=0,1 in salloc" "$(ranks_only)" "$(expected_ranks 5)"

begin=$SECONDS
run srun "$mpi" -N1 -n1 "$PMIXHOST_CLIENTS/abort" all 42 "of one component" 0 : -N2 -n2 "$PMIXHOST_CLIENTS/abort" all 42 "of one component" 0
ok "an abort ends all components" eval '((status == 42 && SECONDS - begin < 60))'
run salloc -N1 -n2 : -N2 -n3 srun "$mpi" --het-group=1 "$hello"
is "srun --het-group=1 is a job of its own" "$(ranks_only)" "$(expected_ranks 3)"

printf '0-1 %s\n2 /usr/bin/env %s\n3-4 %s\n' "$hello" "$hello" "$hello" >"$test_dir/multi"
run_srun -N2 -n5 --multi-prog "$test_dir/multi"
is "--multi-prog" "$(ranks_only)" "$(expected_ranks 5)"

# ---------------------------------------------------------------------------- input and output

run_srun -N2 -n4 -l "$hello"
is "-l labels each line with the task's number" \
    "$(grep -c '^\([0-9]\): rank \1 of 4' <<<"$output")" 4

run_srun -N2 -n4 -u "$hello"
is "-u" "$(ranks_only)" "$(expected_ranks 4)"

run_srun -N2 -n4 --output=task.%t.out "$hello"
output=$(for t in 0 1 2 3; do grep -h "rank $t of" "$test_dir/task.$t.out"; done 2>&1)
is "--output=task.%t.out: each task writes its own file" "$(ranks_only)" "$(expected_ranks 4)"

run bash -c "script -q -e -c 'srun $mpi --pty $hello' /dev/null"
is "--pty" "$(tr -d '\r' <<<"$output" | grep -c 'rank 0 of 1')" 1

run bash -c "printf 'one\ntwo\n' | srun -Q $mpi -N2 -n2 -i0 sh -c '$hello >/dev/null; exec cat'"
is "standard input reaches the task that -i names" "$output" $'one\ntwo'

run_srun -N2 -n4 sh -c 'exit $((SLURM_PROCID * 3))'
is "the exit code is the highest of the tasks'" "$status" 9

# ------------------------------------------------------------------------- nothing is left of it

ok "nothing is left of all these steps" no_litter 30

step_runs() { [[ $(grep -cs '^asleep' "$test_dir/held") -ge 8 ]]; }

# held COMMAND ...: starts a step on four hosts whose tasks have all called PMIx, then runs COMMAND
# and waits for srun, which must end before its time limit, and not with success.
held() {
    local srun begin=$SECONDS
    : >"$test_dir/held"
    (cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "${on_cluster[@]}" --user "$TEST_USER" -- \
        srun -J held -K "$mpi" -N4 -n8 sh -c "$hello; echo asleep; exec sleep 1000" >"$test_dir/held" 2>&1 </dev/null) &
    srun=$!
    until_true 40 step_runs || { output=$(cat "$test_dir/held"); end_jobs; return 1; }
    "$@"
    wait $srun
    status=$?
    output=$(cat "$test_dir/held")
    ((status != 0 && SECONDS - begin < TEST_LIMIT))
}

cancel() { as_user "$TEST_USER" scancel "$@" --name=held; }

ok "scancel ends a step" held cancel
ok "and nothing is left" no_litter 20
ok "scancel -s KILL ends a step" held cancel -s KILL
ok "and nothing is left" no_litter 20

kill_srun() {
    as_user root bash -c 'ps -C srun -o pid= | xargs kill -KILL'
    cancel
}
ok "a step whose srun was killed ends with its job" held kill_srun
ok "and nothing is left" no_litter 20

crash_tasks() {
    local host
    for host in n1 n3; do on_host "$host" bash -c 'ps -C sleep -o pid=,args= | awk "/1000/ { print \$1 }" | xargs kill -SEGV'; done
}
ok "srun -K: a step whose tasks crash on two hosts ends" held crash_tasks
ok "and nothing is left" no_litter 20

# What leaks one descriptor or process per step shows here.
counts_on_n1() {
    on_host n1 sh -c "ps -e --no-headers | wc -l; ls /proc/\$(cat '$PMIXHOST_CLUSTER_DIR/hosts/n1/slurmd.pid')/fd | wc -l" |
        tr '\n' ' '
}
no_more_than_before() {
    local now was
    read -r -a now <<<"$(counts_on_n1)"
    read -r -a was <<<"$before"
    ((now[0] <= was[0] && now[1] <= was[1]))
}
before=$(counts_on_n1)
TEST_LIMIT=300 run salloc -N2 -n4 bash -c "for i in \$(seq 60); do srun $mpi -n4 $hello || exit 1; done"
is "sixty steps one after the other" "$(grep -c 'rank 3 of 4' <<<"$output")" 60
ok "and nothing is left" no_litter 20
ok "nor has n1 more processes, or slurmd more descriptors, than before" until_true 30 no_more_than_before

done_testing
