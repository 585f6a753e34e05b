#!/bin/bash
# Ranks that end in every way there is while others wait for them: these hear an error soon, and go
# on without them.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

for when in before inside after; do
    for how in exit quit kill segv leave; do
        client 3 2 die $how $when
        [[ $how == leave ]] && ok_wanted=6 || ok_wanted=5
        ok "a rank of another host: $how, $when the fence" eval "ended_in_time && so_many_ok $ok_wanted"
    done
done
for how in exit kill leave; do
    for when in before inside; do
        [[ $how == leave ]] && ok_wanted=4 || ok_wanted=3
        client 1 4 die $how $when
        ok "a rank of the same host: $how, $when the fence" eval "ended_in_time && so_many_ok $ok_wanted"
    done
done
client 3 1 die kill before
ok "the only rank of a host: kill, before the fence" eval "ended_in_time && so_many_ok 2"
client 3 1 die kill inside
ok "the only rank of a host: kill, inside the fence" eval "ended_in_time && so_many_ok 2"
client 3 2 die kill before 0
ok "the first rank: kill, before the fence" eval "ended_in_time && so_many_ok 5"
# Two hosts have no root (server-glue/collective/collective.h): each may be the one whose rank ends.
for rank in 0 3; do
    for when in before inside after; do
        client 2 2 die kill $when $rank
        ok "of two hosts, rank $rank: kill, $when the fence" eval "ended_in_time && so_many_ok 3"
    done
done
client 2 2 die kill first
ok "a rank is killed before any other of its host enters the fence" eval "ended_in_time && so_many_ok 3"
what="a rank leaves before any other of its host enters the fence"
CLIENT_LIMIT=$(patience "$what" 60) client 2 2 die leave first
ok "$what" eval "ended_in_time && so_many_ok 4"

for call in fence connect group lookup; do
    for how in segv kill exit; do
        client 3 1 waiting $call $how
        ok "a rank ends while the others wait: $call, $how" eval "ended_in_time && so_many_ok 2"
    done
done
client 3 2 nonpmi exits 5
ok "a rank without PMIx exits while the others are in a fence" all_ok 5
client 1 3 nonpmi exits 2
ok "the same on one host" all_ok 2
client 3 2 nonpmi aside 5
ok "a rank without PMIx disturbs nobody who does not wait for it" all_ok 5

done_testing
