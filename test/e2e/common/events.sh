#!/bin/bash
# Events between the processes of a job, and what the host itself reports.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=170 # more than the clients give themselves
# A storm has once hung in a fence (one of some thousand): the client on its host had no answer.
export CLIENT_STACKS=yes

for shape in 1x4 2x2 4x2; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" events ranges
    ok "events over every range come once and in order, $shape" all_ok $((h * p))
done
client 3 2 events late
ok "who registers late hears of what was" all_ok 6
client 3 2 events storm 10000
ok "10000 events from one rank, while the others fence" all_ok 6
client 3 2 events storm 10000 4096
ok "10000 large events from one rank: no daemon grows beyond a bound, and what is taken comes" all_ok 6
if [[ $backend == slurm ]]; then # the daemons of the local backend are on one host
    client 3 1 events hoard
    ok "300 MiB of events that nobody listens to: other hosts do not keep them, but what is small" all_ok 3
fi
# Under Slurm the tasks are not the daemon's children: only a kernel from 6.15 on keeps the exit code of
# a process for those who hold a pidfd of it (contrib/doc/decisions/events.md).
kernel=$(uname -r)
exit_codes=yes
[[ $backend == local || $(printf '%s\n' 6.15 "$kernel" | sort -V | head -n 1) == 6.15 ]] || exit_codes=
for how in kill exit quit late; do
    if [[ -z $exit_codes ]]; then
        skip "the end of a process is reported to all: $how" "Linux $kernel may not tell exit codes"
        continue
    fi
    client 3 2 events dies $how
    ok "the end of a process is reported to all: $how" eval "ended_in_time && so_many_ok 5"
done
if [[ -n $exit_codes ]]; then
    client 1 3 events dies kill
    ok "the end of a process is reported on its own host" eval "ended_in_time && so_many_ok 2"
fi
if [[ -n $exit_codes && $backend == slurm ]]; then # pmixhost run kills at once
    job_options=(-K)
    client 3 2 events condemned
    ok "an end for which the job is ended says so: -K" eval "ended_in_time && so_many_ok 5"
    job_options=()
fi
client 3 2 events dies leave
ok "a process that ends well is not reported as one that ended badly" all_ok 5

if [[ $backend == local ]]; then
    job_options=(--fault link-drop,host=0,peer=2)
    client 3 2 events lost
    ok "a lost host is reported" all_ok 6
    job_options=(--kill-on-bad-exit=0)
    client 3 2 events down "$(host_name 3)" kill
    ok "a job that lives on loses a server: the others hear of a lost host and go on" eval "ended_in_time && so_many_ok 4"
    job_options=()
fi
done_testing
