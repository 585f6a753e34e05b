#!/bin/bash
# What a user who has had enough does about jobs that the tasks of pmixhost run have spawned and left behind: they are
# told to end, as their own runs tell their tasks, and leave nothing.
. "$(dirname "$0")/../common/words.sh"

mkdir "$test_dir/tmp"
parents_directory() { ls -d "$test_dir/tmp"/pmixhost-*."$job_pid".* 2>/dev/null; }
parent_has_gone() { [[ -z $(parents_directory) ]]; }
has_ended() { ! kill -0 "$job_pid" 2>/dev/null; }
cat >"$test_dir/child" <<END
trap 'echo told >"$test_dir/told"; exit 0' TERM
echo \$\$ >"$test_dir/runs"
while :; do sleep 0.05; done
END
(cd "$test_dir" && exec "$PMIXHOST_RUN" run --tmpdir "$test_dir/tmp" --timeout 150s -n 1 "$clients/spawn" quit -- \
    /bin/sh "$test_dir/child") >"$test_dir/out" 2>&1 </dev/null &
job_pid=$!
ok "a spawned job goes on when its parent's tasks have ended" eval \
    'until_true 60 test -s "$test_dir/runs" && until_true 60 parent_has_gone && ! has_ended'
begun=$SECONDS
kill "$job_pid"
ok "SIGTERM ends both, soon" eval 'until_true 60 has_ended && ((SECONDS - begun < 10))'
wait "$job_pid"
is "the spawned job's task was told" "$(cat "$test_dir/told" 2>/dev/null)" told
is "and no private directory is left" "$(ls "$test_dir/tmp")" ""
is "nor a process" "$(kill -0 "$(cat "$test_dir/runs")" 2>/dev/null && echo is there)" ""

done_testing
