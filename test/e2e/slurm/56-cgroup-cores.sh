#!/bin/bash
# Steps that are held to cores (ConstrainCores, task/affinity, task/cgroup), on hosts of which one core is set aside for
# Slurm (CoreSpecCount): where their daemons run.
. "$(dirname "$0")/../lib.sh"

cores=$(nproc)
if ((cores < 2)); then
    trap - EXIT
    echo "1..0 # SKIP there is one processor"
    exit 0
fi
if ! own_cluster cores --cgroup --cpus "$cores" --conf "NodeName=n[1-2] CPUs=$cores Boards=1 SocketsPerBoard=1 CoresPerSocket=$cores ThreadsPerCore=1 RealMemory=4096 CoreSpecCount=1 State=UNKNOWN"; then
    trap - EXIT
    [[ $said == *"next: leave it out"* ]] || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
    echo "1..0 # SKIP ${said##*"--cgroup: "}"
    exit 0
fi
# shellcheck disable=SC2016 # for the tasks' shell
looks='sed -n "s/^Cpus_allowed_list:[[:space:]]*/task /p" /proc/self/status
for pid in $(pgrep pmixhostd); do sed -n "s/^Cpus_allowed_list:[[:space:]]*/daemon /p" /proc/$pid/status; done'
run_srun -N2 -n2 -c1 sh -c "$looks"
of_tasks=$(sed -n 's/^task //p' <<<"$output" | sort -u) of_daemons=$(sed -n 's/^daemon //p' <<<"$output" | sort -u)
diag "tasks run on $of_tasks, daemons on $of_daemons"
ok "each task is held to one core" eval '[[ $(grep -c "^task [0-9]*$" <<<"$output") == 2 ]]'
is "the daemons are on the one that is set aside, both processes of each" "$(grep -c '^daemon [0-9]*$' <<<"$output")" 4
ok "which is none of the tasks'" eval '[[ -n $of_daemons ]] && ! grep -qxFf <(echo "$of_daemons") <<<"$of_tasks"'
run_srun -N2 -n2 "$PMIXHOST_CLIENTS/hello"
is "a step of PMIx programs" "$(grep -c 'rank [01] of 2' <<<"$output")" 2
ok "nothing is left of it" no_litter 30
done_testing
