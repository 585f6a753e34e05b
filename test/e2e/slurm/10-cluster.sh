#!/bin/bash
# The ground on which the other tests stand: the hosts are hosts, and Slurm knows pmixhost.
. "$(dirname "$0")/../lib.sh"

hosts=$(hosts_of_cluster)
count=$(wc -l <<<"$hosts")

like "the cluster has at least two hosts" "$count" '^([2-9]|[1-9][0-9])$'

run srun -Q -N "$count" -l hostname
is "each host has a name of its own" "$(sed 's/.*: //' <<<"$output" | sort -V)" "$hosts"

run srun -Q -N "$count" sh -c 'echo $SLURMD_NODENAME >/tmp/mine; readlink /proc/self/ns/{net,uts,mnt,pid,ipc} | tr "\n" " "; echo'
is "no two hosts share a namespace" "$(tr ' ' '\n' <<<"$output" | sed '/^$/d' | sort | uniq -d)" ""
run srun -Q -N "$count" sh -c 'cat /tmp/mine; rm /tmp/mine'
is "/tmp is each host's own" "$(sort -V <<<"$output")" "$hosts"

run id -Gn
is "a test user has its supplementary group" "$output" "pmixuser1 pmixteam"

run srun --mpi=list
like "srun --mpi=list shows pmixhost" "$output" '(^|[[:space:]])pmixhost([[:space:]]|$)'
unlike "and complains of nothing" "$output" '[Ee]rror|undefined|incompatible|[Ii]nvalid'

for host in $hosts; do
    log=$(grep -hEi 'pmixhost.*(error|fail|undefined|incompatible)|(error|fail|undefined|incompatible).*mpi_pmixhost' \
        "$PMIXHOST_CLUSTER_DIR/hosts/$host/slurmd.log")
    is "slurmd of $host loaded the plugin without a complaint" "$log" ""
done
log=$(grep -hEi '(error|fail|undefined|incompatible).*mpi_pmixhost' \
    "$PMIXHOST_CLUSTER_DIR/hosts/head/slurmctld.log")
is "so did slurmctld" "$log" ""

as_user root scontrol reconfigure
ok "slurmctld survives scontrol reconfigure with the plugin" until_true 60 as_user root scontrol ping
runs() { run srun -Q -N "$count" true; passed; }
ok "and so do the slurmds" until_true 60 runs

run_srun -N "$count" hostname
ok "a program that knows nothing of PMIx runs under --mpi=pmixhost" passed
is "on each host" "$(sort -V <<<"$output")" "$hosts"
ok "nothing is left of it" no_litter 30

done_testing
