#!/bin/bash
# The same attacks on the local backend, whose daemons have no munge: whoever else is on this machine is
# not let in, holds nobody up and costs little.
. "$(dirname "$0")/../words.sh"

configure '[log]' "file = \"$victims_log/%n.%s\"" '[directory]' "base = \"$test_dir\""
begin_job 3 2 "$clients/linger"
all_there() { (($(grep -c '^there' "$out") == 6)); }
ok "a job of one user runs on three virtual hosts" until_true 60 all_there
output=$(cat "$out")
steal_environment here linger
nspace=$(stolen PMIX_NAMESPACE)
before=$(sizes)

disguised_is_kept_out here

seen=0
for port in $(ports here); do
    seen=$((seen + 1))
    nothing_came "a port of a daemon: every claim of user, name, rank, module and kind" here "tcp:$port" \
        mode=sweep wait=10 "nspace=$nspace" "victim=$victim"
    nothing_came "he behaves badly there, in every way" here "tcp:$port" mode=all times=180 wait=2 \
        "nspace=$nspace" uid=$victim gid=$victim cred=$victim:$victim
    nothing_came "2000 connections at once" here "tcp:$port" mode=silent times=2000 at_once=2000 wait=3
done
ok "these were two ports of each of three daemons" test "$seen" -ge 6
ok "the job never noticed" eval '! grep -q "^told" "$out" && job_runs'
settled() { [[ -z $(has_grown "$before" "$(sizes)" 32768 8) ]]; }
ok "no daemon has grown by more than 32 MiB, or kept a descriptor" until_true 20 settled
is "no daemon has left a process behind" "$(zombies)" ""
like "the log names whose connections were closed" "$(cat "$victims_log"/*)" \
    "connection of uid $stranger[ ,].*PMIx server"
lines=$(log_lines)
echo "# $lines lines"
ok "and is no longer for thousands of them" test "$lines" -lt 300
end_job
output=$(cat "$out")

starts_in_time 2 2
begin_siege mode=all seconds=90 at_once=64 pace=100 wait=20
client 2 2 barrier 40 5
ok "fences go on under siege" all_ok 4
client 2 1 spawn count=2 times=2 pmix.mapby=node:oversubscribe
ok "so does spawning" eval 'passed && (($(grep -c "^child " <<<"$output") == 4))'
end_siege
gone() { [[ -z $(pgrep -x pmixhostd -u "$victim") ]]; }
ok "no daemon is left" until_true 20 gone
done_testing
