#!/bin/bash
# Where each job has a /tmp and a /dev/shm of its own (JobContainerType=job_container/tmpfs): slurmd and slurmstepd
# see the hosts', tasks the job's. The daemon must be where the tasks are, and still be found by slurmd.
. "$(dirname "$0")/../common/words.sh"

TMPDIR=/var/tmp own_cluster job-tmp --job-tmp || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
export UCX_TLS=tcp,self OMPI_MCA_mpi_yield_when_idle=1
unset CLIENT_DIR

# Kernels from 6.18 on sometimes refuse what makes a job's namespace last, by the CPU on which it is made: then
# Slurm takes the allocation back, or leaves it waiting. Where that is so time after time nothing can be shown.
job=
start_job() { # sets $job
    local try started='' TEST_LIMIT=30
    for try in 1 2 3; do
        run salloc --no-shell -N2 --ntasks-per-node=4
        job=$(sed -n 's/.*Granted job allocation //p' <<<"$output")
        run srun --mpi=none --jobid="$job" --overlap -N2 -n2 true
        if passed; then
            started=yes
            break
        fi
        [[ -z $job ]] || run scancel "$job"
    done
    if [[ -z $started ]] && grep -qs 'ns base mount failed' "$PMIXHOST_CLUSTER_DIR"/hosts/*/slurmd.log; then
        skip "jobs with a /tmp of their own" "Slurm cannot make them with this kernel: ns base mount failed"
        done_testing
        exit
    fi
    [[ -n $links ]] || return 0
    # shellcheck disable=SC2086 # a list
    run srun --mpi=none --jobid="$job" --overlap -N2 -n2 ln -s $links /tmp
}
in_job() { run_srun --jobid="$job" --overlap "$@"; }

# Programs under test that are in /tmp are made visible in that of the job.
links=
for path in "$PMIXHOST_BUILD" "$PMIXHOST_SOURCE"; do
    [[ $path == /tmp/* ]] || continue
    top=/tmp/$(cut -d/ -f3 <<<"$path")
    [[ $links != *" $test_dir/share$top "* ]] || continue
    mkdir -p "$test_dir/share$top"
    for host in n1 n2; do on_host "$host" mount --rbind "$top" "$test_dir/share$top"; done
    links+=" $test_dir/share$top "
done

start_job
ok "an allocation" passed
in_job -N2 -n2 sh -c 'touch /tmp/mine && ls /tmp/mine'
ok "jobs have a /tmp of their own" eval 'passed && ! on_host n1 test -e /tmp/mine'
in_job -N2 -n4 "$clients/hello"
ok "a step on two hosts" says_ok 4
in_job -N2 --ntasks-per-node=2 "$clients/modex"
ok "direct modex" says_ok 4
in_job -N1 -n1 sh -c 'ls -d /tmp/pmixhost-[0-9]*.*'
like "the daemon's files are in the job's /tmp" "$(tail -n 1 <<<"$output")" '^/tmp/pmixhost-[0-9]*\.[a-zA-Z0-9]*$'
in_job -N1 -n2 sh -c "touch /tmp/file; exec $clients/cleanup self exit ok /tmp/file file=/tmp/file"
ok "what is to be removed with a process is looked for where it is" says_ok 2
if [[ -x $clients/mpi_init ]]; then
    in_job -N2 -n4 "$clients/mpi_allreduce"
    ok "Open MPI" says_ok 4
    in_job -N1 -n1 "$clients/mpi_spawn"
    ok "MPI_Comm_spawn" passed
else
    skip "Open MPI" "there was no mpicc"
fi
in_job -N2 -n3 "$clients/publish" rules
ok "publish and lookup: the session, a task of the job, is found" says_ok 3
in_job -N2 -n2 sh -c 'pkill -KILL pmixhostd; exit 3'
ok "a daemon that is killed" failed
in_job -N2 -n2 "$clients/hello" # which sweeps its contact sockets
end_jobs
no_sockets() { [[ -z $(on_host n1 ls -A /run/pmixhost)$(on_host n2 ls -A /run/pmixhost) ]]; }
ok "no contact socket is left" until_true 30 no_sockets
for host in n1 n2; do on_host "$host" rmdir /run/pmixhost; done
ok "nor anything else" no_litter 30

on_host n1 mkdir -m 755 /run/pmixhost
until_true 30 none_clears_up
start_job
in_job -N2 -n2 "$clients/hello"
like "a directory for the sockets that somebody else made is told" "$output" 'n1: .*/run/pmixhost must be a directory'
done_testing
