#!/bin/bash
# Steps under cgroups of version 2: Slurm's cgroup/v2, without constraints, for which controllers would have to be free.
option=--cgroup2 hierarchy=^0::
. "$(dirname "$0")/../cgroup_steps.sh"
done_testing
