#!/bin/bash
# Links between hosts that break or are slow, which only the local backend can make so on demand.
. "$(dirname "${BASH_SOURCE[0]}")/../common/words.sh"

for when in "" ,messages=1; do
    job_options=(--fault "link-drop,host=0,peer=2$when")
    client 3 1 fence_lost
    ok "a dropped link ends a waiting fence with an error at all ranks: link-drop,host=0,peer=2$when" \
        all_ok 3
    job_options=(--fault "link-drop,host=2,peer=0$when")
    client 3 1 fence_lost
    ok "the same, dropped by the other host: link-drop,host=2,peer=0$when" all_ok 3
done

# The result is a large one, which hosts 1 to 3 hand on to one another.
for spec in host=1,peer=2 host=2,peer=1,messages=5 host=2,peer=3; do
    job_options=(--fault "link-drop,$spec")
    client 4 1 fence_data -500000
    ok "a large result reaches those behind a dropped link: $spec" all_ok 4
done

job_options=(--fault link-delay,host=0,peer=2,by=200ms)
client 3 2 fence_data 1000 2 2
ok "a collecting fence brings all data over a slow link" all_ok 6
client 3 1 barrier 3 100
ok "a fence is a barrier over a slow link" all_ok 3
client 3 2 modex pairs
ok "direct modex over a slow link" all_ok 6
job_options+=(--fault link-delay,host=1,peer=0,by=50ms)
client 3 2 fence_sub concurrent
ok "concurrent fences over links of different speed" all_ok 6

for spec in link-drop,host=0 link-drop,host=0,peer=0 link-drop,host=0,peer=7 link-delay,host=0,peer=1 \
    link-drop,host=0,peer=1,messages=few link-burn,host=0,peer=1; do
    job_options=(--fault "$spec")
    client 2 1 hello
    ok "a bad specification fails: $spec" failed
    like "and is named: $spec" "$output" "fault '$spec'"
done

done_testing
