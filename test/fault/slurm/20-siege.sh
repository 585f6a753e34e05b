#!/bin/bash
# Strangers on all hosts attack whatever the victim listens at, from the moment when it is there: jobs
# start, fence, spawn and end as without them, and the daemons do not grow.
. "$(dirname "$0")/../words.sh"

configure '[log]' "file = \"$victims_log/%n.%j.%s\""
starts_in_time 3 2

# ------------------------------------------------------------------------------ it fences, it spawns

begin_siege mode=all seconds=90 at_once=64 pace=100 wait=20
client 3 2 barrier 40 5
ok "fences go on under siege" all_ok 6
client 2 1 spawn count=2 times=2 pmix.mapby=node:oversubscribe
ok "so does spawning" eval 'passed && (($(grep -c "^child " <<<"$output") == 4))'
client 3 2 publish rules
ok "so does publishing" all_ok 6
end_siege

# ---------------------------------------------------------------------------------- what it costs

begin_job 2 2 "$clients/linger"
all_there() { (($(grep -c '^there' "$out") == 4)); }
ok "a job waits in a fence" until_true 60 all_there
before=$(sizes)
lines=$(log_lines)
host=$(host_name 1)
for port in $(ports "$host"); do
    nothing_came "2000 connections at once" "$host" "tcp:$port" mode=silent times=2000 at_once=2000 wait=3
    nothing_came "2000 hellos that are reset at once" "$host" "tcp:$port" mode=reset times=2000 \
        at_once=500 wait=3 nspace=nobody
    nothing_came "400 at once, a byte a second" "$host" "tcp:$port" mode=drip times=400 at_once=400 wait=4
done
begin_siege mode=all seconds=90 at_once=400 pace=1000 wait=5
grown='' end=$((SECONDS + 6))
while ((SECONDS < end)); do
    grown+=$(has_grown "$before" "$(sizes)" 32768 600)
    sleep 0.5 # between two looks
done
is "during an attack no daemon grows by more than 32 MiB or 600 descriptors" "$grown" ""
end_siege
settled() { [[ -z $(has_grown "$before" "$(sizes)" 32768 8) ]]; }
ok "and afterwards it has no more descriptors than before" until_true 20 settled
is "no daemon has left a process behind" "$(zombies)" ""
lines=$(($(log_lines) - lines))
echo "# $lines lines"
ok "some ten thousand strangers make no more than 200 lines in the logs" test "$lines" -lt 200
ok "the job never noticed" eval '! grep -q "^told" "$out" && job_runs'
end_job
ok "nothing is left" no_litter 30
done_testing
