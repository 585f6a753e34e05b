#!/bin/bash
# PMIx_Query_info: what a process can ask of its host.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

for shape in 1x4 2x2 4x1; do
    export PMIXHOST_PSETS="ocean=0-2;atmo=1,3"
    client "${shape%x*}" "${shape#*x}" query sets "ocean=0-2;atmo=1,3"
    unset PMIXHOST_PSETS
    ok "number, names and members of the process sets, $shape" all_ok 4
done
client 2 2 query sets
ok "no process set" all_ok 4
for shape in 1x4 2x2; do
    client "${shape%x*}" "${shape#*x}" query groups
    ok "number, names and members of groups, $shape" all_ok 4
done
client 2 2 query job
ok "namespaces, command line, status and what is supported" all_ok 4
for shape in 1x1 1x4 2x2 4x2; do
    client "${shape%x*}" "${shape#*x}" query table
    ok "the table of processes, $shape" all_ok $((${shape%x*} * ${shape#*x}))
done
client 2 2 query mixed
ok "each key has a status of its own" all_ok 4

kernel=$(uname -r)
if [[ $backend == local || $(printf '%s\n' 6.15 "$kernel" | sort -V | head -n 1) == 6.15 ]]; then
    for shape in 1x3 3x1; do
        client "${shape%x*}" "${shape#*x}" query ended
        ok "the table shows a process that has ended, $shape" eval "ended_in_time && so_many_ok 2"
    done
else
    skip "the table shows a process that has ended, 1x3" "Linux $kernel may not tell exit codes"
fi

if [[ $backend == slurm ]]; then
    job_options=(-t 10)
    client 2 1 query rm 600
    ok "Slurm tells the time that is left, queues and allocations" all_ok 2
    job_options=()
    client 2 1 query supported-rm
else
    client 2 1 query supported
fi
ok "what is listed as supported is answered, and what only a resource manager knows is listed where there is one" \
    all_ok 2
done_testing
