# shellcheck shell=bash
# Where Slurm tracks a step's processes by cgroups (proctrack/cgroup), as most sites do, it kills all that
# it holds for the step when the last task has ended. The cluster of the other tests has none: this one is
# a small one with cgroups. For sourcing; it needs $option, of the cluster, and $hierarchy, the one in which Slurm tracks.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
: "${option:?}" "${hierarchy:?}"

if ! own_cluster cgroup "$option"; then
    trap - EXIT
    [[ $said == *"next: leave it out"* ]] || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
    echo "1..0 # SKIP ${said##*"$option": }"
    exit 0
fi
all_ok() { passed && (($(grep -c '^ok [0-9]*$' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }
# What a job has in the cgroups is gone with it, since Slurm cannot remove a directory in which something is.
cgroups_of_jobs() {
    find /sys/fs/cgroup/{,*/}"$(cat "$PMIXHOST_CLUSTER_DIR/etc/cgroup")" -name 'job_*' 2>/dev/null
}
no_cgroups() { [[ -z $(cgroups_of_jobs) ]]; }

# shellcheck disable=SC2016 # for the task's shell
run_srun -N2 -n2 sh -c 'for pid in $(pgrep pmixhostd); do grep "$0" /proc/$pid/cgroup; done' "$hierarchy"
is "each host's two processes of the daemon are in a cgroup beside the step's, in the job's" \
    "$(grep -c '/job_[0-9]*/pmixhost_0$' <<<"$output")" 4
ok "nothing is left of it" no_litter 30
ok "and no cgroup" until_true 30 no_cgroups

run_srun -N2 -n4 "$PMIXHOST_CLIENTS/hello"
is "a step on two hosts" "$(grep -c 'rank [0-3] of 4' <<<"$output")" 4
run salloc -N2 bash -c "for i in 1 2 3 4; do srun $mpi --overlap -N2 -n2 $PMIXHOST_CLIENTS/hello & done; wait"
is "four steps of a job at once" "$(grep -c 'rank [01] of 2' <<<"$output")" 8
ok "nothing is left of them" no_litter 30
ok "and no cgroup of theirs" until_true 30 no_cgroups

run_srun -N2 -n4 --mem-bind=verbose,map_mem:0 "$PMIXHOST_CLIENTS/hello"
is "a step that is bound to memory" "$(grep -c 'rank [0-3] of 4' <<<"$output") $(grep -c 'mem-bind=MAP.*mask 0x1 set' <<<"$output")" "4 4"
run salloc -Q -N2 -n4 srun "$mpi" -N1 -n1 --mem-bind=local "$PMIXHOST_CLIENTS/spawn"
ok "one that is spawns" all_ok 1

as_user "$TEST_USER" touch "$test_dir/file"
run_srun -N2 -n2 "$PMIXHOST_CLIENTS/cleanup" job exit ok - file="$test_dir/file"
ok "the daemon comes to its end: a file goes that was to go with the job" \
    eval 'all_ok 2 && until_true 15 [ ! -e "$test_dir/file" ]'

# What is left in its pipes when a spawned process ends is not killed with it.
mkdir -m 1777 "$test_dir/kept"
for i in 1 2 3; do
    # shellcheck disable=SC2016 # for the child's shell
    run salloc -Q -N1 -n4 srun "$mpi" -N1 -n1 "$PMIXHOST_CLIENTS/spawn" cwd="$test_dir/kept" "pmix.iof.file!=$i" -- \
        /bin/sh -c 'head -c 300000 /dev/zero | tr "\\0" x; exec head -c 50000 /dev/zero'
    all_kept() { [[ $(cat "$test_dir/kept/$i".*.0.stdout | wc -c) == 350000 ]]; }
    ok "all that it wrote is in its file, $i" until_true 20 all_kept
done

# The copy of a plain job's output: slurmstepd waits for the daemon, which waits for the last of it from slurmstepd.
# shellcheck disable=SC2016 # for the tasks' shell
(cd "$test_dir" && exec timeout -k 5 60 "${on_cluster[@]}" --user "$TEST_USER" -- srun "$mpi" -N2 -n2 -J followed \
    sh -c ': >kept/up.$SLURM_PROCID; until [ -e kept/go ]; do sleep 0.1; done; seq 20000 | sed "s/^/$SLURM_PROCID /"') \
    >"$test_dir/printed" 2>&1 </dev/null &
job_pid=$!
until_true 40 eval '(($(ls "$test_dir"/kept/up.* 2>/dev/null | wc -l) == 2))'
job=$(as_user root squeue -h -t R -n followed -o %i)
"${on_cluster[@]}" --user "$TEST_USER" --host n1 -- timeout -k 5 60 "$PMIXHOST_BUILD/tools/pmixhost" output "$job" >"$test_dir/seen" 2>&1 &
seen=$!
copied_on() { on_host "$1" ss -Htnp src 127.0.0.1 | grep -q slurmstepd; }
run_seen() { copied_on n1 && copied_on n2; }
ok "a tool follows a job's output on both hosts" until_true 20 run_seen
touch "$test_dir/kept/go"
wait "$job_pid"
is "which ends as ever" "$?" 0
wait "$seen"
is "and so does the tool" "$?" 0
is "with all of it" "$(sort "$test_dir/seen" | uniq | wc -l)" 40000
ok "nothing is left of that" no_litter 30
ok "and no cgroup of it" until_true 30 no_cgroups

run_srun -N2 -n2 sh -c 'kill -KILL $$'
ok "a step that fails" failed
ok "nothing is left of it either" no_litter 30
ok "nor a cgroup" until_true 30 no_cgroups
