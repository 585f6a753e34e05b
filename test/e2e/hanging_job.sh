# shellcheck shell=bash
# A job that hangs, and what its processes do meanwhile: for the tests of what looks at it (slurm/69-stacks.sh,
# slurm/74-debug.sh, local/look.sh), behind words.sh. Needs Open MPI and gdb, else the script is skipped.
why=
[[ -x $clients/mpi_hang ]] || why="there was no mpicc"
[[ -n $(type -P gdb) ]] || why="there is no gdb"
if [[ -n $why ]]; then
    echo "1..0 # SKIP $why"
    trap - EXIT
    exit 0
fi
export UCX_TLS=tcp,self OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export NO_COLOR= LC_ALL=C
out=$test_dir/hangs go=$test_dir/go path=$PATH
if [[ $backend == slurm ]]; then
    pmixhost=$(sed -n 's/^PluginDir=\([^:]*\).*/\1/p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")/../../bin/pmixhost
    asks_as() { (cd "$test_dir" && "${on_cluster[@]}" --user "$1" --host "$(host_name 1)" -- env PATH="$path" timeout -k 5 400 "${@:2}"); }
    starts() { (cd "$test_dir" && exec timeout -k 5 550 "${on_cluster[@]}" --user pmixuser1 -- srun -O -N"$1" -n"$2" "$mpi" "${@:3}"); }
    at() { on_host "$@"; }
else
    pmixhost=$PMIXHOST_RUN
    export TMPDIR=$test_dir
    unset PMIX_SYSTEM_TMPDIR
    asks_as() { (cd "$test_dir" && env PATH="$path" timeout -k 5 150 "${@:2}"); }
    starts() { (cd "$test_dir" && exec timeout -k 5 550 "$pmixhost" run --hosts "$1" -n "$2" --tmpdir "$test_dir" "${@:3}"); }
    at() { "${@:2}"; }
fi
asks() { asks_as pmixuser1 "$@"; }
said() { (($(grep -c "^$1" "$out") == $2)); }                                                # TEXT TIMES
# begin HOSTS RANKS PROGRAM ...: a job that hangs; sets $job.
begin() {
    [[ $backend != slurm ]] || until_true 30 none_clears_up # or the job gets other hosts, and its last one is still listed
    : >"$out"
    rm -f "$go"
    starts "$@" >"$out" 2>&1 </dev/null &
    job_pid=$!
    until_true 60 said there "$2" || diag "$(<"$out")"
    if [[ $backend == slurm ]]; then
        job=slurm.$(as_user root squeue -h -t R -u pmixuser1 -o %i).0
    else
        job=$(asks "$pmixhost" servers --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["job"])')
    fi
}
ends_well() { # RANKS
    touch "$go"
    wait "$job_pid"
    local code=$?
    said ok "$1" && ((code == 0)) || { diag "exit code $code: $(<"$out")"; false; }
}
# HOST PID of each process of the job, in lines
processes() { asks "$pmixhost" ps --json "$job" | python3 -c 'import json, sys
for p in json.load(sys.stdin)[0]["processes"]: print(p["host"].split(".")[0], p["pid"])'; }
states() { # of each: S or R, t, T, and who traces it
    local host pid
    while read -r host pid; do
        at "$host" sed -n -E 's/^State:[[:space:]]*([A-Za-z]).*/\1/p; s/^TracerPid:[[:space:]]*/by /p' "/proc/$pid/status" </dev/null
    done <"$test_dir/processes"
}
all_run() { # and are there
    local all count
    all=$(states) count=$(wc -l <"$test_dir/processes")
    (($(grep -c '^[SRD]$' <<<"$all") == count && $(grep -c '^by 0$' <<<"$all") == count))
}
