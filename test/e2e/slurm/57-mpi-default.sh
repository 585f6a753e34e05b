#!/bin/bash
# Where a site makes pmixhost the default of all steps (MpiDefault), everything that does not know of it goes on
# as before: programs without MPI, interactive steps, mpirun of Open MPI and of MPICH, other --mpi.
. "$(dirname "$0")/../common/words.sh"

own_cluster default --conf MpiDefault=pmixhost --conf MpiParams=ports=20000-20100 || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
export UCX_TLS=tcp,self
unset CLIENT_DIR # mpirun does not take it to other hosts
TEST_LIMIT=120

run srun -N2 -n4 "$clients/hello"
ok "a step without --mpi is pmixhost's" says_ok 4
run srun -N2 -n2 printenv SLURM_PROCID
is "a program without MPI says what it says, and nothing else" "$(sort <<<"$output")" $'0\n1'
run srun -N1 -n1 sh -c 'exit 7'
is "and has its exit code" "$status" 7
# shellcheck disable=SC2016 # for the task's shell
run srun -N2 -n2 --mpi=none sh -c 'echo "${PMIX_RANK-none}"'
is "--mpi=none is none" "$(sort -u <<<"$output")" none
run script -qec "srun --pty -N1 -n1 sh -c 'test -t 0 && test -t 1 && echo terminal'" /dev/null
like "srun --pty has its terminal" "$output" terminal
run salloc -Q -N2 srun -N2 -n2 hostname
is "a step in salloc" "$(sort <<<"$output")" $'n1\nn2'

if [[ -x $clients/mpi_init ]] && command -v mpirun.openmpi >/dev/null; then
    mpirun=(mpirun.openmpi)
    run salloc -Q -N2 --ntasks-per-node=2 "${mpirun[@]}" "$clients/mpi_allreduce"
    ok "Open MPI's mpirun in salloc" says_ok 4
    cat >"$test_dir/batch" <<TXT
#!/bin/bash
${mpirun[*]} $clients/mpi_allreduce
srun -n2 $clients/mpi_init
TXT
    run sbatch --wait -o "$test_dir/batch.out" -N2 --ntasks-per-node=2 "$test_dir/batch"
    output=$(cat "$test_dir/batch.out")
    ok "and in sbatch, where a step of ours follows" says_ok 6
    run salloc -Q -N2 --ntasks-per-node=2 srun --overlap -N1 -n1 "${mpirun[@]}" -n 2 --oversubscribe "$clients/mpi_allreduce"
    ok "and in a step, as from srun --pty bash" says_ok 2
    run srun -N1 -n1 sh -c "$clients/mpi_init && $clients/mpi_allreduce"
    ok "programs of one process in a step, one after the other" says_ok 2
else
    skip "Open MPI's mpirun" "there is none"
fi

# What the ranks say to each other is not looked at: two of Debian 12's MPICH (4.0.2, over UCX) on a host now and then wait
# for each other in MPI_Allreduce for ever, with --mpi=none and without pmixhost: 6 times of 20 on two processors.
if command -v mpicc.mpich mpiexec.hydra >/dev/null &&
    mpicc.mpich -o "$test_dir/mpich" "$PMIXHOST_SOURCE/test/e2e/clients/mpi_init.c" 2>"$test_dir/mpich.log"; then
    run salloc -Q -N2 --ntasks-per-node=2 mpiexec.hydra "$test_dir/mpich" </dev/null # it waits for its input to end
    ok "MPICH's mpiexec" says_ok 4
    run sbatch -W -Q -N2 --ntasks-per-node=2 -o "$test_dir/batch.mpich" --wrap "mpiexec.hydra '$test_dir/mpich' </dev/null"
    output=$(cat "$test_dir/batch.mpich")
    ok "and in sbatch" says_ok 4
    run srun --mpi=pmi2 -N2 -n4 --ntasks-per-node=2 "$test_dir/mpich"
    ok "MPICH with --mpi=pmi2" says_ok 4
else
    skip "MPICH's mpiexec and --mpi=pmi2" "there is no MPICH"
fi

# Slurm reads its configuration again under a step: from 23.11 on its daemons begin anew then, each as another process.
(cd "$test_dir" && exec timeout -k 5 60 "${on_cluster[@]}" --user "$TEST_USER" -- srun -N2 -n4 "$clients/barrier" 25 200) \
    >"$test_dir/during" 2>&1 </dev/null &
step=$!
step_runs() { on_host n1 pgrep -x barrier && on_host n2 pgrep -x barrier; }
ok "a step runs" until_true 30 eval 'step_runs >/dev/null'
as_user root scontrol reconfigure
wait "$step"
status=$? output=$(cat "$test_dir/during")
ok "it goes on while Slurm reads its configuration again" says_ok 4
next_one() { run srun -N2 -n4 "$clients/hello"; says_ok 4; }
ok "and the next one begins" until_true 30 next_one
ok "nothing is left" no_litter 30
done_testing
