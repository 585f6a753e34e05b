#!/bin/bash
# The template of a backend (contrib/doc/new-backend.md): the smallest one, loaded by the same pmixhostd, runs jobs on
# one and two "hosts", and what it has not is refused as not supported.
. "$(dirname "${BASH_SOURCE[0]}")/../common/words.sh"

export PMIXHOST_PMIXHOSTD=$PMIXHOST_BUILD/server-glue/pmixhostd
template_dir=$(mktemp -d /tmp/pmixhost-e2e.XXXXXX) # a short name: it has sockets
job() { # as in words.sh
    local hosts=$1 per=$2 begin=$SECONDS
    shift 2
    rm -f "$CLIENT_DIR"/*
    status=0 too_late=
    output=$(cd "$test_dir" && TMPDIR=$template_dir timeout -k 5 "$TEST_LIMIT" "$PMIXHOST_BUILD/plugins/template/pmixhost-template" \
        "$hosts" "$per" "$@" 2>&1 </dev/null) || status=$?
    ((status != 124 || SECONDS - begin < TEST_LIMIT)) || too_late=yes
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
}

for hosts in 1 2; do
    client "$hosts" 2 hello
    ok "hello on $hosts" all_ok $((hosts * 2))
    client "$hosts" 2 fence_data 1000 2 2
    ok "a collecting fence on $hosts" all_ok $((hosts * 2))
    client "$hosts" 2 modex all
    ok "direct modex on $hosts" all_ok $((hosts * 2))
    for rank in 0 $((hosts * 2 - 1)); do
        client "$hosts" 2 abort all 42 "the text of rank $rank" "$rank"
        is "rank $rank aborts with 42 on $hosts: the starter's exit code" "$status" 42
        like "and its text is shown" "$output" "the text of rank $rank"
        unlike "and nobody outlives it" "$output" 'FAIL|^ok'
    done
done
client 2 1 query supported
ok "what is listed as supported is answered, and nothing of facets that it has not" all_ok 2
client 2 2 "" # no program: a directory
ok "a program that cannot be executed ends the job with an error" eval 'ended_in_time && ((status != 0))'
is "nothing of the jobs is left" "$(ls -d "$template_dir"/pmixhost-template.* 2>/dev/null)" ""
rm -rf "$template_dir"

done_testing
