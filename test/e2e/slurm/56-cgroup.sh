#!/bin/bash
# Steps under cgroups of version 1, with constraints.
option=--cgroup hierarchy=freezer
. "$(dirname "$0")/../cgroup_steps.sh"

# This daemon behaves as none ever should: slurmstepd waits for it, and then kills it. Its contact socket stays.
no_processes() {
    local host
    for host in $(hosts_of_cluster); do ! litter "$host" | grep -q '^process' || return 1; done
}
# shellcheck disable=SC2016
run_srun -N1 -n1 sh -c 'pkill -STOP pmixhostd'
ok "a step does not wait for a daemon that is stopped" passed
ok "which is killed in the end" until_true 60 no_processes
ok "and its cgroup removed" until_true 30 no_cgroups
done_testing
