#!/bin/bash
# Where ranks are bound, PMIx knows how near they are to each other. The cluster of the other tests
# claims CPUs that are not there, so nothing can be bound on it: this one has the machine's own.
. "$(dirname "$0")/../lib.sh"

if (($(nproc) < 2)); then
    echo "1..0 # SKIP two CPUs are needed"
    trap - EXIT
    exit 0
fi
own_cluster cpu --cpus "$(nproc)" --conf TaskPlugin=task/affinity || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
all_ok() { passed && (($(grep -c '^ok [0-9]*$' <<<"$output") == $1)) && ! grep -q '^FAIL' <<<"$output"; }

run_srun -N1 -n2 --cpu-bind=map_cpu:0,1 "$PMIXHOST_CLIENTS/locality" package
ok "two ranks on two cores of a package" all_ok 2
# shellcheck disable=SC2016 # of the task
PMIXHOST_MODEX_STORE=own run_srun -N1 -n2 --cpu-bind=map_cpu:0,1 sh -c 'exec "$0" "$@"' "$PMIXHOST_CLIENTS/locality" package
ok "also where tasks had left when the library started" all_ok 2
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

# WORD OPTION ...: PMIX_BINDTO is that word in a step with these options.
bound_to() {
    run_srun -w n1 -N1 -n1 "${@:2}" "$PMIXHOST_CLIENTS/jobinfo" --hosts n1 --map 0 --bindto "$1"
    passed && grep -qx "check 0 PMIX_BINDTO ok" <<<"$output"
}
unbound() {
    run_srun -w n1 -N1 -n1 "$@" "$PMIXHOST_CLIENTS/jobinfo" --hosts n1 --map 0
    passed && grep -qx "check 0 PMIX_BINDTO absent" <<<"$output"
}
for pair in none:none threads:hwthread cores:core sockets:package ldoms:numa; do
    ok "PMIX_BINDTO of --cpu-bind=${pair%:*}" bound_to "${pair#*:}" --cpu-bind="${pair%:*}"
done
SLURM_CPU_BIND=verbose,cores ok "PMIX_BINDTO of SLURM_CPU_BIND" bound_to core
ok "PMIX_BINDTO where CPUs are named one by one: there is no word" unbound --cpu-bind=map_cpu:0
ok "PMIX_BINDTO where nobody has asked for one: Slurm's choice has no word" unbound

done_testing
