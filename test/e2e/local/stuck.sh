#!/bin/bash
# A libpmix that does not answer any more: the step is ended with a line that says so. (Under Slurm the
# supervisor shows the line that the daemon leaves, as for every failure: 60-fault.sh.)
. "$(dirname "${BASH_SOURCE[0]}")/../common/words.sh"

configure "[daemon]" "library_timeout = \"2s\"" "evidence_directory = \"$test_dir\"" # each host leaves a file
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
export STUCK_HOW='' STUCK_WHEN=$test_dir/stuck
with_stuck_library() { LD_PRELOAD=$clients/.libs/stuck.so "$@"; }

for STUCK_HOW in call progress; do
    rm -f "$STUCK_WHEN"
    begin=$SECONDS
    with_stuck_library job 2 1 sh -c "touch '$STUCK_WHEN'; exec sleep 60"
    took=$((SECONDS - begin))
    ok "a job whose library is stuck fails: $STUCK_HOW" failed
    like "and is told why: $STUCK_HOW" "$output" "libpmix has not answered for 2 s \(daemon.library_timeout\)"
    file=$(sed -n 's/.*where it stood is in [^:]*:\([^ ;]*\).*/\1/p' <<<"$output" | head -n 1)
    ok "it names a file that says where it stood: $STUCK_HOW" test -n "$file" -a -f "$file"
    like "and that names each thread: $STUCK_HOW" "$(cat "$file" 2>/dev/null)" 'daemon.library_timeout.*thread'
    ok "soon: $STUCK_HOW, $took s" test "$took" -lt 40
done

rm -f "$STUCK_WHEN"
with_stuck_library client 2 1 barrier 3 100
ok "a library that answers is left alone" all_ok 2

done_testing
