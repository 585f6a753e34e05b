#!/bin/bash
# A job is told before the time of its allocation is up.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=150

export PMIXHOST_EVENTS_TIME_WARNING=55s
job_options=(-t 1)
client 3 2 time_left 55
ok "all processes are told, once, before the time of the allocation is up" all_ok 6
done_testing
