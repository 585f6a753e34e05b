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
client 2 1 query fabric
ok "of the network nothing is told, and nobody waits for it" all_ok 2
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

for shape in 1x3 2x2; do
    client "${shape%x*}" "${shape#*x}" query_host memory
    ok "memory of daemons and processes, of all, some and one, $shape" all_ok $((${shape%x*} * ${shape#*x}))
done
client 2 2 query_host resolve
ok "who is where, and the processes of another host" all_ok 4
client 1 2 query_host qualifiers
ok "each key says which qualifiers it has, and what is wrong is refused" all_ok 2
if [[ $backend == slurm ]]; then
    client 2 1 query_host support 1
    ok "functions and attributes are those of this host and resource manager" all_ok 2
    client 2 1 query_host allocation some
    ok "the hosts of the allocation, and its free slots" all_ok 2
else
    client 2 1 query_host support 0
    ok "functions and attributes are those of this host and resource manager" all_ok 2
    client 2 1 query_host allocation none
    ok "the hosts of the allocation, and its free slots" all_ok 2
fi
client 1 1 query_host servers
ok "the servers of this host are found" all_ok 1

client 1 1 query_host rank_alone
ok "a rank without its namespace is asked for" all_ok 1
client 1 1 query_host own_attributes
ok "a client asks for the functions of its own library" all_ok 1

client 1 2 query_host rights observe,output,input,control,spawn,debug
ok "a tool may do everything where there are no rules" all_ok 2
configure '[tools]' 'policy = ["deny control,debug by anyone to jobs of anyone from anywhere"]'
client 1 2 query_host rights observe,output,input,spawn
ok "what the rules refuse a tool is said" all_ok 2
configure '[tools]' 'enabled = "off"'
client 1 2 query_host rights ""
ok "where tools are switched off they may do nothing" all_ok 2
configure
done_testing
