# shellcheck shell=bash
# What a test body needs to run on either backend: "job" starts the same job with srun on the
# cluster (when run-slurm has started one) or with "pmixhost run" on virtual hosts.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

if [[ -n ${PMIXHOST_CLUSTER_DIR:-} ]]; then
    backend=slurm
    host_limit=$(hosts_of_cluster | wc -l)
    by_node=(-m cyclic)
    host_name() { hosts_of_cluster | sed -n "$1p"; } # N, from 1
else
    backend=local
    host_limit=8
    by_node=(-m node)
    test_dir=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-local.XXXXXX")
    trap 'end_of_local' EXIT
    end_of_local() {
        rm -rf "$test_dir"
        test_end
    }
    host_name() { echo "host$(($1 - 1))"; }
fi
# shellcheck disable=SC2154 # set by lib.sh or above
export CLIENT_DIR=$test_dir/life
mkdir -p "$CLIENT_DIR"
chmod 1777 "$CLIENT_DIR"

clients=$PMIXHOST_CLIENTS
export OMPI_MCA_mpi_yield_when_idle=1 # as mpirun sets it: there are more ranks than processors
job_options=() # more options of the launcher
verdicts=      # what the ranks of the last job said

# cover HOST FILE OTHER: on that host of the cluster FILE is OTHER, for whoever opens it, until `uncover HOST FILE`.
cover() { on_host "$1" mount --bind "$3" "$2"; }
uncover() { # whoever has it open may just be ending
    until_true 20 on_host "$1" umount "$2" 2>/dev/null || on_host "$1" umount -l "$2"
}

# job HOSTS RANKS-PER-HOST PROGRAM [ARGUMENT ...]: sets $output and $status.
# The verdicts are in the output, and those of our own clients in a file as well (client.h says why).
job() {
    local hosts=$1 per=$2
    shift 2
    rm -f "$CLIENT_DIR"/*
    if [[ $backend == slurm ]]; then
        run_srun -O -N "$hosts" -n $((hosts * per)) --ntasks-per-node="$per" \
            ${job_options[@]+"${job_options[@]}"} "$@"
    else
        local begin=$SECONDS
        status=0 too_late=
        output=$(cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "$PMIXHOST_RUN" run --hosts "$hosts" \
            -n $((hosts * per)) ${job_options[@]+"${job_options[@]}"} "$@" 2>&1 </dev/null) ||
            status=$?
        ((status != 124 || SECONDS - begin < TEST_LIMIT)) || too_late=yes
    fi
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
}

# dynamic RANKS HOSTS PROGRAM ...: on three hosts, with room for jobs that these ranks spawn; sets $output,
# $status and $too_late.
dynamic() {
    local ranks=$1 hosts=$2
    shift 2
    if [[ $backend == slurm ]]; then
        run salloc -Q -N3 --ntasks-per-node=12 srun "$mpi" -N "$hosts" -n "$ranks" \
            ${job_options[@]+"${job_options[@]}"} "$@"
    else
        local begin=$SECONDS
        status=0 too_late=
        output=$(cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "$PMIXHOST_RUN" run --hosts 3 \
            -n "$ranks" ${job_options[@]+"${job_options[@]}"} "$@" 2>&1 </dev/null) || status=$?
        ((status != 124 || SECONDS - begin < TEST_LIMIT)) || too_late=yes
    fi
}

client() { # HOSTS RANKS-PER-HOST CLIENT [ARGUMENT ...]
    local hosts=$1 per=$2 name=$3
    shift 3
    job "$hosts" "$per" "$clients/$name" "$@"
}

# configure LINE ...: the contents of pmixhost.conf for the jobs to come; without any, no file.
configure() {
    local file=${PMIXHOST_CONFIG_FILE:-$test_dir/pmixhost.conf}
    [[ $backend == slurm ]] || job_options=()
    rm -f "$file"
    (($#)) || return 0
    mkdir -p "${file%/*}"
    printf '%s\n' "$@" >"$file"
    chmod 644 "$file"
    [[ $backend == slurm ]] || job_options=(--config "$file")
}

# configure_logged LINE ...: likewise, and what the daemons of any user say goes to $log, which is empty.
configure_logged() {
    rm -f "$log"
    touch "$log"
    chmod 666 "$log"
    configure '[log]' "file = \"$log\"" 'level = "info"' "$@"
}

# so_many_ok N: N processes said "ok", none said "FAIL".
so_many_ok() {
    (($(grep -c '^ok [0-9]*$' <<<"$verdicts") == $1)) && ! grep -q '^FAIL' <<<"$verdicts"
}
all_ok() { passed && so_many_ok "$1"; }
ended_in_time() { [[ -z $too_late ]]; }

# For a cluster of a script's own (own_cluster), where nothing is known of the layout of jobs: N processes said "ok".
says_ok() { passed && (($(grep -c '^ok [0-9]*' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }

# On a cluster of two hosts: tries each way that there is between processes, hosts, the session, the launcher and
# srun.
each_way() {
    local program
    for program in hello "modex all" fence_data; do
        # shellcheck disable=SC2086 # with an argument
        run_srun -N2 -n4 "$clients/"$program
        ok "${program% *}" says_ok 4
    done
    run_srun -N2 -n3 "$clients/publish" rules
    ok "publish and lookup, over the session" says_ok 3
    run salloc -Q -N2 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=2
    is "spawn, over the launcher beside srun" "$(grep -c '^child [01] of 2' <<<"$output")" 2
    run_srun -N2 -n2 "$clients/abort" all 42 words
    is "an abort comes to srun" "$status" 42
}
