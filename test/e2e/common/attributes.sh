#!/bin/bash
# Every attribute of a namespace, seen by every rank, in several layouts; one test per attribute.
# The truth comes from the layout that was asked for, not from PMIx.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

seen= # the output of all runs

look() { # DESCRIPTION RANKS
    # jobinfo fails where any attribute is wrong; which one, the tests further down say
    ok "$1: every rank gets its answers" eval "ended_in_time && (( \$(grep -cE '^(ok|FAIL) [0-9]+(\$|: [0-9]+ attributes)' <<<\"\$output\") == $2 ))"
    seen+=$output$'\n'
}
hosts3=$(host_name 1),$(host_name 2),$(host_name 3)
# On these hosts and no others: Slurm goes round one on which the job before is still being cleared away.
on_hosts=() on_one=()
# The cluster's hosts claim CPUs that are not there, and the local backend has none: nothing is bound.
options=(--bindto none)
[[ $backend != slurm ]] || options+=(--slurm yes) on_hosts=(-w "$hosts3") on_one=(-w "$(host_name 1)")

job_options=(${on_hosts[@]+"${on_hosts[@]}"})
client 3 2 jobinfo --hosts "$hosts3" --map "0,1;2,3;4,5" --alloc "$hosts3" \
    --mapby slot ${options[@]+"${options[@]}"}
look "block" 6
job_options=("${by_node[@]}" ${on_hosts[@]+"${on_hosts[@]}"})
client 3 2 jobinfo --hosts "$hosts3" --map "0,3;1,4;2,5" --alloc "$hosts3" \
    --mapby node ${options[@]+"${options[@]}"}
look "cyclic" 6
job_options=(${on_one[@]+"${on_one[@]}"})
client 1 1 jobinfo --hosts "$(host_name 1)" --map "0" ${options[@]+"${options[@]}"}
look "one rank" 1
job_options=(${on_hosts[@]+"${on_hosts[@]}"})
PMIXHOST_DAEMON_DETAILS_UP_TO=5 client 3 2 jobinfo --hosts "$hosts3" --map "0,1;2,3;4,5" --alloc "$hosts3" --own yes \
    --mapby slot ${options[@]+"${options[@]}"}
look "a job of more processes than are described" 6
PMIXHOST_DAEMON_DETAILS_UP_TO=5 client 3 2 modex all
ok "and its data and fences are as ever" all_ok 6
job_options=()

# Two programs in one job: ranks 0-1 and 2-5. Under Slurm a het step.
apps=(--hosts "$hosts3" --map "0,1;2,3;4,5" --apps "0-1;2-5")
if [[ $backend == slurm ]]; then
    run srun "$mpi" -w "$(host_name 1)" -N1 -n2 "$clients/jobinfo" "${apps[@]}" : \
        -w "$(host_name 2),$(host_name 3)" -N2 -n4 --ntasks-per-node=2 "$clients/jobinfo" "${apps[@]}"
else
    status=0
    output=$(timeout -k 5 "$TEST_LIMIT" "$PMIXHOST_RUN" run --hosts 3 -m ppr:2:node \
        -n 2 "$clients/jobinfo" "${apps[@]}" : -n 4 "$clients/jobinfo" "${apps[@]}" 2>&1 \
        </dev/null) || status=$?
fi
look "two programs" 6

if [[ $backend == slurm ]]; then
    # Ranks out of order, a line that goes on, quotes, and arguments on srun's own line.
    words="--hosts $hosts3 --map '0,1;2,3;4,5' --apps '1,4-5;0,2-3'"
    printf '%s\n' "# a comment" "1,4-5 $clients/jobinfo \\" "$words" "* $clients/jobinfo $words" \
        >"$test_dir/multi"
    run_srun -O "${on_hosts[@]}" -N3 -n6 --ntasks-per-node=2 --multi-prog "$test_dir/multi" --mapby slot
    look "--multi-prog" 6
    run salloc -w "$(host_name 1)" -N1 -n2 -O : -w "$(host_name 2),$(host_name 3)" -N2 -n4 -O \
        srun "$mpi" --het-group=0-1 --ntasks-per-node=2 "$clients/jobinfo" --hosts "$hosts3" \
        --map "0,1;2,3;4,5" --apps "0-1;2-5"
    look "the components of a het job" 6
fi

verdict_of() { # ATTRIBUTE: prints nothing when all is well
    grep -E "^check [0-9]+ $1 FAIL" <<<"$seen" | head -n 5
    grep -qE "^check [0-9]+ $1 ok" <<<"$seen" || echo "nobody has it"
}
required="PMIX_NSPACE PMIX_JOBID PMIX_NODE_LIST PMIX_UNIV_SIZE PMIX_JOB_SIZE PMIX_MAX_PROCS
    PMIX_NUM_NODES PMIX_NODE_MAP PMIX_PROC_MAP PMIX_LOCAL_SIZE PMIX_LOCAL_PEERS PMIX_LOCAL_CPUSETS
    PMIX_RANK PMIX_LOCAL_RANK PMIX_NODE_RANK PMIX_NODEID PMIX_APPNUM PMIX_APPLDR PMIX_APP_SIZE
    PMIX_APP_RANK"
optional="PMIX_SERVER_NSPACE PMIX_SERVER_RANK PMIX_NPROC_OFFSET PMIX_SESSION_ID
    PMIX_ALLOCATED_NODELIST PMIX_JOB_NUM_APPS PMIX_MAPBY PMIX_AVAIL_PHYS_MEMORY
    PMIX_LOCALLDR PMIX_LOCAL_PROCS PMIX_NODE_SIZE PMIX_PROCID PMIX_GLOBAL_RANK PMIX_HOSTNAME
    PMIX_CPUSET PMIX_TMPDIR PMIX_NSDIR PMIX_PROCDIR PMIX_TDIR_RMCLEAN PMIX_APP_ARGV PMIX_BINDTO topology"
for attribute in $required $optional; do
    is "$attribute" "$(verdict_of "$attribute")" ""
done
is "PMIX_PROCDIR: each process has its own" "$(grep -a ' PMIX_PROCDIR = ' <<<"$seen" | awk '$NF !~ "/" $2 "$"')" ""
# What a host may leave out, where this backend does; wrong values are still wrong.
for attribute in PMIX_RANKBY PMIX_HWLOC_XML_V1 PMIX_HWLOC_XML_V2 \
    PMIX_LOCALITY_STRING; do
    if [[ $(verdict_of "$attribute") == "nobody has it" ]]; then
        skip "$attribute" "not provided here"
    else
        is "$attribute" "$(verdict_of "$attribute")" ""
    fi
done

done_testing
