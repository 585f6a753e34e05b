#!/bin/bash
# Where ranks are bound, PMIx knows how near they are to each other. The cluster of the other tests
# claims CPUs that are not there, so nothing can be bound on it: this one has the machine's own.
. "$(dirname "$0")/../lib.sh"

if (($(nproc) < 2)); then
    echo "1..0 # SKIP two CPUs are needed"
    trap - EXIT
    exit 0
fi
plugin_dir=$(sed -n 's/^PluginDir=//p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
own=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-cpu.XXXXXX")
"$PMIXHOST_CLUSTER" up --dir "$own" --hosts 2 --cpus "$(nproc)" --plugin-dir "$plugin_dir" \
    --share "$PMIXHOST_BUILD" --share "$PMIXHOST_SOURCE" --conf TaskPlugin=task/affinity 2>&1 | sed 's/^/# /'
PMIXHOST_CLUSTER_DIR=$own
on_cluster[-1]=$own
test_dir=$own/work
end_of_own() {
    "$PMIXHOST_CLUSTER" down --dir "$own" 2>&1 | sed 's/^/# /'
    test_end
}
trap end_of_own EXIT
all_ok() { passed && (($(grep -c '^ok [0-9]*$' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }

run_srun -N1 -n2 --cpu-bind=map_cpu:0,1 "$PMIXHOST_CLIENTS/locality" package
ok "two ranks on two cores of a package" all_ok 2
run_srun -N1 -n2 -O --cpu-bind=map_cpu:0,0 "$PMIXHOST_CLIENTS/locality" core
ok "two ranks on one core" all_ok 2
run_srun -N2 -n2 --cpu-bind=map_cpu:0 "$PMIXHOST_CLIENTS/locality" none
ok "two ranks on two hosts" all_ok 2
run_srun -N2 -n4 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 "$PMIXHOST_CLIENTS/locality" package
ok "four ranks on two hosts" all_ok 4
run_srun -N2 -n4 --ntasks-per-node=2 --cpu-bind=map_cpu:0,1 "$PMIXHOST_CLIENTS/jobinfo" \
    --hosts "n1,n2" --map "0,1;2,3" --slurm yes
is "PMIX_CPUSET is what the kernel says, bound" \
    "$(grep -cE '^check [0-9]+ PMIX_CPUSET ok' <<<"$output")" 4
is "PMIX_LOCALITY_STRING, bound" \
    "$(grep -cE '^check [0-9]+ PMIX_LOCALITY_STRING ok' <<<"$output")" 4
is "PMIX_LOCAL_CPUSETS, bound" \
    "$(grep -cE '^check [0-9]+ PMIX_LOCAL_CPUSETS ok' <<<"$output")" 4

done_testing
