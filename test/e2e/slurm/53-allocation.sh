#!/bin/bash
# PMIx_Allocation_request: new allocations, more time, hosts given back; what is refused, what is waited
# for, and who goes away meanwhile.
. "$(dirname "$0")/../lib.sh"

allocate=$PMIXHOST_CLIENTS/allocate
# in_job SALLOC-OPTION ... -- WORD ...: one process on n1, in an allocation.
in_job() {
    local options=()
    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    shift
    run salloc -Q -w n1 "${options[@]}" srun "$mpi" -N1 -n1 -w n1 "$allocate" "$@"
}
id_in() { grep -o 'pmix.alloc.id=[0-9]*' <<<"$1" | head -n 1 | cut -d= -f2; }
jobs_named() { as_user root squeue -h -n "$1" -o "%i %T"; }

# --- new
in_job -N1 -t5 -- new nodes=2 cpus=4 time=90 queue=main reqid=mine mem=100
ok "a new allocation" passed
like "it is told with its hosts, processors and time" "$output" \
    'new PMIX_SUCCESS pmix.alloc.id=[0-9]+ pmix.alloc.reqid=mine pmix.alloc.nnodes=2 pmix.alloc.nlist=n[0-9],n[0-9] pmix.alloc.ncpus=4 pmix.alloc.time=120 '
id=$(id_in "$output")
like "it stays when the job has ended" "$(jobs_named mine)" "$id RUNNING"
run srun --jobid="$id" -l hostname
ok "its user can run a step in it" eval 'passed && (($(grep -c ": n" <<<"$output") >= 2))'
like "the memory that was asked for is what Slurm gives" "$(as_user root squeue -h -j "$id" -o %m)" '^100M$'
like "Slurm knows its limit of time" "$(as_user root squeue -h -j "$id" -o %l)" '^2:00$'
in_job -N1 -- release id="$id"
like "it is released by its name" "$output" "release PMIX_SUCCESS pmix.alloc.id=$id "
ok "and ends" until_true 20 no_jobs

in_job -N1 -- new list=n2,n4 release id=@ new list='n[2-3]' release id=@
ok "hosts are named, one by one or as Slurm does" \
    eval 'grep -q "nlist=n2,n4" <<<"$output" && grep -q "nlist=n2,n3" <<<"$output"'

run salloc -Q -N2 -w n1,n2 srun "$mpi" -N2 -n2 -w n1,n2 "$allocate" hear=2 new nodes=1 reqid=told release id=@
id=$(id_in "$output")
is "all processes of the job hear that it begins, and of its end when it is given back" \
    "$(grep '^session' <<<"$output" | sort)" \
    "$(printf 'session %s\n' "ends $id" "ends $id" "starts $id" "starts $id")"

# One that somebody cancels: "await" keeps the process until the test has done so.
cancel() { # FILE
    # Not before the daemon has looked at what it has asked for.
    until_true 60 eval '[[ $(jobs_named lost) == *RUNNING* ]]' && sleep 2 && as_user root scancel -n lost
    touch "$1"
}
cancel "$test_dir/cancelled" &
canceller=$!
run salloc -Q -N2 -w n1,n2 srun "$mpi" -N2 -n2 -w n1,n2 "$allocate" hear=2 new nodes=1 reqid=lost await="$test_dir/cancelled"
wait "$canceller"
id=$(id_in "$output")
is "all processes of the job hear of the end of one that is cancelled" \
    "$(grep '^session' <<<"$output" | sort)" \
    "$(printf 'session %s\n' "ends $id" "ends $id" "starts $id" "starts $id")"

in_job -N1 -- new queue=--uid=0 new queue=nowhere new list=n99 new nodes=99 timeout=1 new nodes=0 new queue=$'a\nb' \
    new id=1 new cpus=100000 timeout=1
# Newer Slurm says at once that it will never have so much.
is "what does not exist or makes no sense is refused" "$(sed -n 's/ after.*//; s/OUT_OF_RESOURCE/TIMEOUT/; /^new/p' <<<"$output")" \
    "new PMIX_ERR_NOT_FOUND
new PMIX_ERR_NOT_FOUND
new PMIX_ERR_NOT_FOUND
new PMIX_ERR_TIMEOUT
new PMIX_ERR_BAD_PARAM
new PMIX_ERR_BAD_PARAM
new PMIX_ERR_BAD_PARAM
new PMIX_ERR_TIMEOUT"
in_job -N1 -- reaquire external new required=pmix.alloc.netid new required=pmix.alloc.ncpulist new nodes=1 optional=pmix.alloc.netid release id=@
is "directives and attributes that are not offered are refused, or passed over when optional" \
    "$(sed -n 's/ pmix.*\| after.*//p' <<<"$output")" \
    "reaquire PMIX_ERR_NOT_SUPPORTED
external PMIX_ERR_NOT_SUPPORTED
new PMIX_ERR_NOT_SUPPORTED
new PMIX_ERR_NOT_SUPPORTED
new PMIX_SUCCESS
release PMIX_SUCCESS"
ok "nothing is left of what was refused" until_true 20 no_jobs

# --- waiting
all_hosts=$(hosts_of_cluster | wc -l)
in_job -N"$all_hosts" --exclusive -- new nodes=1 reqid=late timeout=2
like "what is not granted in time is told so" "$output" 'new PMIX_ERR_TIMEOUT after ([2-9]|1[0-9])\.'
ok "and taken back" until_true 20 eval '[[ -z $(jobs_named late) ]]'

waiting() { [[ $(jobs_named "$1") == *PENDING* ]]; }
gone() { [[ -z $(jobs_named "$1") ]]; }
rm -f "$test_dir"/{out,go}
run bash -c "salloc -Q -N$all_hosts --exclusive srun $mpi --no-kill --kill-on-bad-exit=0 -n2 -N2 $allocate \
    await=$test_dir/go new nodes=1 reqid=killed timeout=100 >$test_dir/out 2>&1" &
job=$!
touch "$test_dir/go"
ok "a request waits in the queue" until_true 30 waiting killed
pid=$(on_host n1 pgrep -f "^$allocate" | head -n 1)
on_host n1 kill -KILL "$pid"
ok "and is taken back when its process dies" until_true 20 gone killed
as_user root scancel --user=pmixuser1
wait "$job"

run bash -c "salloc -Q -N$all_hosts --exclusive srun $mpi -n1 $allocate new nodes=1 reqid=ended timeout=100" &
job=$!
ok "another request waits" until_true 30 waiting ended
step=$(as_user root squeue -h -s -o '%i %j' | awk '$2 == "allocate" { print $1 }')
as_user root scancel -s TERM "$step" 2>/dev/null # it says that the step is gone, when it is
ok "and is taken back when the step ends" until_true 20 gone ended
wait "$job"
ok "all jobs have ended" until_true 30 no_jobs

rm -f "$test_dir"/{out,go}
run bash -c "salloc -Q -N$all_hosts --exclusive srun $mpi -n1 $allocate new nodes=1 reqid=unwanted \
    timeout=100 >$test_dir/out 2>&1" &
job=$!
ok "a third one waits" until_true 30 waiting unwanted
as_user root scancel --name=unwanted
ok "and is answered when it is cancelled" until_true 30 eval 'grep -q "^new PMIX_ERR_OUT_OF_RESOURCE" "$test_dir/out"'
wait "$job"

until_true 30 none_clears_up
others=$(as_user pmixuser1 salloc --no-shell -N$((all_hosts - 1)) --exclusive 2>&1 | grep -o '[0-9]*$' | tail -n 1)
run bash -c "salloc -Q -N1 -n1 srun $mpi -n1 $allocate new nodes=2 reqid=patient timeout=100 release id=@ \
    >$test_dir/out 2>&1" &
job=$!
ok "a fourth one waits" until_true 30 waiting patient
as_user root scancel "$others"
wait "$job"
output=$(cat "$test_dir/out")
like "and is granted when there is room" "$output" 'new PMIX_SUCCESS .*nnodes=2 '

# --- more time
in_job -N1 -t5 -- extend time=3600
like "an ordinary user gets no more time for a running job" "$output" 'extend PMIX_ERR_NO_PERMISSIONS'
TEST_USER=root
in_job -N1 -t5 -- extend time=590
like "who may gets more time" "$output" 'extend PMIX_SUCCESS .*pmix.alloc.time=600 '
in_job -N1 -t5 -- extend time=60 extend nodes=1 time=600 extend
is "less time, more hosts and no time are refused" "$(sed -n 's/ after.*//p' <<<"$output")" \
    "extend PMIX_ERR_BAD_PARAM
extend PMIX_ERR_NOT_SUPPORTED
extend PMIX_ERR_BAD_PARAM"
TEST_USER=pmixuser1

# --- hosts given back
run salloc -Q -N4 -t5 bash -c "srun $mpi -N2 -n2 -w n1,n2 $allocate release list=n2 release list=n1,n3 release list=n3,n4
    srun -N2 -n2 hostname; squeue -h -j \$SLURM_JOB_ID -o 'left %N'"
is "a host where a task runs is not released, idle ones are" "$(grep ^release <<<"$output" | sed 's/ after.*//; s/id=[0-9]*/id=N/; s/ncpus=[0-9]*/ncpus=N/')" \
    "release PMIX_ERR_RESOURCE_BUSY
release PMIX_ERR_RESOURCE_BUSY
release PMIX_SUCCESS pmix.alloc.id=N pmix.alloc.nnodes=2 pmix.alloc.nlist=n1,n2 pmix.alloc.ncpus=N pmix.alloc.time=300"
like "Slurm knows" "$output" 'left n\[1-2\]'
until_true 30 none_clears_up
in_job -N2 -- release list=n7 release list=n1,n2 release release id=12x release id=
is "what is no host of it, all of it, and nothing are refused" "$(sed -n 's/ after.*//p' <<<"$output")" \
    "release PMIX_ERR_NOT_FOUND
release PMIX_ERR_BAD_PARAM
release PMIX_ERR_BAD_PARAM
release PMIX_ERR_NOT_FOUND
release PMIX_ERR_BAD_PARAM"

# --- somebody else's
other=$(as_user pmixuser2 salloc --no-shell -N1 -J theirs 2>&1 | grep -o '[0-9]*$' | tail -n 1)
in_job -N1 -- release id="$other" extend id="$other" time=86400
is "another user's allocation is Slurm's to protect" "$(sed -n 's/ after.*//p' <<<"$output")" \
    "release PMIX_ERR_NO_PERMISSIONS
extend PMIX_ERR_NO_PERMISSIONS"
like "and stays" "$(jobs_named theirs)" RUNNING
end_jobs
done_testing
