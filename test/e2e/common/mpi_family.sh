#!/bin/bash
# Jobs that MPI_Comm_spawn made and their parents live and die together while they are connected
# (server-glue/cross_job/shared_fate.h), and not longer.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

if [[ ! -x $clients/mpi_family ]]; then
    skip "the ends of spawned jobs" "no mpicc"
    done_testing
    exit 0
fi
family=$clients/mpi_family
lives() { grep -c "^$1 [0-9]* lives on\$" <<<"$output"; }
nobody_lives() { ! grep -q 'lives on$' <<<"$output"; }

# Nobody waits for the limit.
ends_with() { # DESCRIPTION EXIT-CODE [ARGUMENT ...]
    local description=$1 code=$2
    shift 2
    TEST_LIMIT=90 dynamic 2 2 "$family" "$@"
    ok "$description: all end" eval 'ended_in_time && nobody_lives'
    is "$description: the exit code" "$status" "$code"
}

# --- one job alone: it is Slurm's rule what a rank's end does to the others
TEST_LIMIT=90
for how in exit segv kill; do
    dynamic 3 3 "$family" $how alone aloof
    ok "one job, a rank ends: $how, and the others go on" eval 'ended_in_time && [[ $(lives parent) == 2 ]]'
    ok "one job, a rank ends: $how, and the exit code says it" test "$status" = \
        "$(case $how in exit) echo 4 ;; segv) echo 139 ;; kill) echo 137 ;; esac)"
done
dynamic 3 3 "$family" abort alone
ok "one job, MPI_Abort: all end with its code" eval 'ended_in_time && nobody_lives && [[ $status == 3 ]]'
dynamic 3 3 "$family" after alone
ok "one job, an exit code after MPI_Finalize: all end well, and it is told" \
    eval '[[ $(lives parent) == 3 && $status == 5 ]]'
job_options=(-K)
dynamic 3 3 "$family" exit alone
ok "one job, -K: a rank's end ends the others" eval 'ended_in_time && failed && nobody_lives'
job_options=()

# --- jobs that are connected
dynamic 2 2 "$family" well
ok "all end well" eval 'passed && [[ $(lives parent) == 2 && $(lives child) == 2 ]]'
ends_with "a child calls MPI_Abort" 3 abort
ends_with "a child exits without MPI_Finalize" 4 exit
like "a child exits without MPI_Finalize: the user hears which" "$output" 'rank 1 of job .* with exit code 4'
ends_with "a child leaves with 0 and without MPI_Finalize" 1 leave
ends_with "a child crashes" 139 segv
ends_with "a child is killed" 137 kill
ends_with "a child of one rank alone calls MPI_Abort" 3 abort self
ends_with "one of four children on several hosts exits" 4 exit 4
ends_with "a parent exits without MPI_Finalize" 4 exit parent
ends_with "a parent calls MPI_Abort" 3 abort parent

dynamic 2 2 "$family" after
ok "a child ends with an error after MPI_Finalize: nobody is ended for it" \
    eval '[[ $(lives parent) == 2 && $(lives child) == 2 ]]'
for how in abort exit kill; do
    rm -f "$test_dir/ended"
    dynamic 2 2 "$family" $how apart "$test_dir/ended"
    ok "after MPI_Comm_disconnect a child ends: $how, and the parents live on" \
        eval 'passed && [[ $(lives parent) == 2 ]]'
done

TEST_LIMIT=90 dynamic 2 2 "$family" kill aloof
ok "who does not wait is ended too" eval 'ended_in_time && nobody_lives'
job_options=(--kill-on-bad-exit=0)
TEST_LIMIT=90 dynamic 2 2 "$family" kill aloof
ok "with -K0 the parents live on" eval 'ended_in_time && [[ $(lives parent) == 2 ]]'
job_options=()

# Open MPI 4.1 writes to processes that have finalized: SIGPIPE ends some that have nothing more to say (under
# mpirun too, where the others are then ended for it).
for i in 1 2 3; do
    TEST_LIMIT=150 dynamic 1 1 "$clients/mpi_tree" 3
    ok "nobody disconnects, all end well: nobody is ended, nothing is lost, $i" eval 'ended_in_time &&
        [[ $status == 0 || $status == 141 ]] &&
        [[ $(grep -c "^born " <<<"$output") == 15 && $(grep -c "^done " <<<"$output") == 15 ]]'
    unlike "and nobody is killed, $i" "$output" 'CANCELLED|Killed|connected'
    # One that is ended so after PMIx_Finalize leaves Open MPI's file of shared memory, of which PMIx knows no more. The
    # exit code tells it of the first job alone.
    [[ $backend != slurm ]] ||
        for host in $(hosts_of_cluster); do on_host "$host" sh -c 'rm -f /dev/shm/vader_segment.*'; done
done

[[ $backend != slurm ]] || ok "nothing is left" no_litter 20
done_testing
