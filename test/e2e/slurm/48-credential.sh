#!/bin/bash
# Credentials while munge does not answer.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=110

munged=$(on_host n1 pgrep -o -x munged)
(until_true 50 test -e "$CLIENT_DIR/ready" && on_host n1 kill -STOP "$munged" && : >"$CLIENT_DIR/go") &
stopper=$!
(until_true 110 grep -qs '^\(ok\|FAIL\)' "$CLIENT_DIR/verdicts"; on_host n1 kill -CONT "$munged") & # srun's end needs it
starter=$!
job_options=(-w n1)
client 1 1 credential late "$CLIENT_DIR/ready" "$CLIENT_DIR/go"
job_options=()
ok "the timeouts of both calls are kept" all_ok 1
wait "$stopper" "$starter"
on_host n1 kill -CONT "$munged"
job_options=(-w n1)
client 1 1 credential exchange
ok "and later ones are answered" all_ok 1
ok "nothing is left" no_litter 20
done_testing
