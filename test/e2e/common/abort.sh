#!/bin/bash
# PMIx_Abort: the exit status and the message reach the user, and the processes that were meant end.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

for shape in 1x3 3x2; do
    h=${shape%x*} p=${shape#*x}
    for rank in 0 $((h * p - 1)); do
        client "$h" "$p" abort all 42 "the text of rank $rank" "$rank"
        is "rank $rank of $shape aborts with 42: the launcher's exit code" "$status" 42
        like "and its text is shown" "$output" "the text of rank $rank"
        unlike "and nobody outlives it" "$output" 'FAIL|^ok'
    done
done
client 2 2 abort all 0 "nothing wrong"
ok "an abort with status 0 ends the job too" eval 'ended_in_time && ! grep -q "FAIL\|^ok" <<<"$output"'

for victim in 1 3 5; do
    client 3 2 abort list 7 "only one" "$victim"
    ok "rank $victim alone is aborted, the others hear of it before and go on" eval "ended_in_time && so_many_ok 5"
done
client 2 2 hello
ok "and the next job runs" all_ok 4

done_testing
