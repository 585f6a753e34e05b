#!/bin/bash
# Fences and direct modex, as programs meet them that use PMIx directly: one client each
# (test/e2e/clients), the same on Slurm and on the local backend.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

# hosts x ranks per host
for shape in 1x1 1x4 2x1 3x2 4x4; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" hello
    ok "PMIx_Init and PMIx_Finalize, $shape" all_ok $((h * p))
done

for shape in 1x4 4x1 4x3; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" barrier 4 300
    ok "a fence without data is a barrier, $shape" all_ok $((h * p))
    client "$h" "$p" barrier 4 300 collect
    ok "a collecting fence is a barrier, $shape" all_ok $((h * p))
done
job_options=("${by_node[@]}")
client 3 2 barrier 4 300
ok "a fence without data is a barrier, ranks dealt out to the hosts" all_ok 6
client 3 2 fence_data 1000 2 2
ok "a collecting fence brings all data, ranks dealt out to the hosts" all_ok 6
job_options=()

# bytes of a key, keys of a rank, rounds
for size in "1 1 3" "64 10 3" "4096 3 3" "65536 2 2" "1048576 1 1"; do
    # shellcheck disable=SC2086 # three arguments
    client 3 2 fence_data $size
    ok "a collecting fence brings all data: $size" all_ok 6
done
# What one rank posts must fit into a segment of libpmix' store: modex.segment_bytes.
client 2 16 fence_data 4000000
ok "61 MiB from each of two hosts, of 16 ranks each" all_ok 32
export PMIXHOST_MODEX_SEGMENT_BYTES=128MiB
client 4 1 fence_data -16777216
ok "16 MiB from each of four hosts, of one rank each" all_ok 4
client 2 1 fence_data -66060288
ok "63 MiB from each of two hosts, of one rank each" all_ok 2
CLIENT_LIMIT=40 client 2 2 fence_data -75497472
ok "72 MiB of a host are more than fence.max_bytes: an error, not a hang" \
    eval 'failed && ! grep -q "still waiting" <<<"$output" && ! so_many_ok 4'
unset PMIXHOST_MODEX_SEGMENT_BYTES
client 2 2 hello
ok "and the next job runs" all_ok 4

for shape in 1x4 2x2 4x2; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" fence_sub groups
    ok "fences of subsets, lists unsorted, $shape" all_ok $((h * p))
    client "$h" "$p" fence_sub concurrent
    ok "concurrent fences of overlapping subsets, $shape" all_ok $((h * p))
    client "$h" "$p" fence_sub mixed
    ok "one set of participants in different words, $shape" all_ok $((h * p))
done

for absent in 0 3 5; do
    client 3 2 fence_timeout 2 once $absent
    ok "PMIX_TIMEOUT in a fence that rank $absent does not enter" all_ok 6
done
client 3 1 fence_timeout 2 once
ok "PMIX_TIMEOUT in a fence that a whole host does not enter" all_ok 3
client 3 1 fence_timeout 2 again
ok "the fence after one that timed out, a host had not entered" all_ok 3
client 3 2 fence_timeout 2 again
ok "the fence after one that timed out, a rank had not entered" all_ok 6

# Not on one host: there libpmix completes a fence without asking its host at all.
for shape in 2x1 3x2; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" fence_reqd
    ok "directives of a fence, required and optional, $shape" all_ok $((h * p))
done

# One process a host: see contrib/doc/decisions/libpmix.md for more.
for h in 1 4; do
    client "$h" 1 again 6
    ok "PMIx_Init again after PMIx_Finalize, six times, ${h}x1" all_ok "$h"
done
client 4 2 modex pairs
ok "direct modex of a rank of another host" all_ok 8
client 2 2 modex all
ok "direct modex of everybody by everybody" all_ok 4
client 3 2 modex late
ok "direct modex waits for data not yet committed" all_ok 6
client 3 2 modex later
ok "direct modex waits for a key that is posted after others" all_ok 6
client 3 2 modex other
ok "a key that is never posted is not found, soon" all_ok 6
client 3 2 modex other 4
ok "PMIX_TIMEOUT in direct modex of a key that is never posted" all_ok 6
client 3 2 modex timeout
ok "PMIX_TIMEOUT in direct modex" all_ok 6
client 3 2 modex nobody
ok "direct modex of a rank that does not exist" all_ok 6
client 3 1 modex gone
ok "direct modex of a rank that has gone, asked by the root of the tree" all_ok 3
client 3 1 modex gone 1
ok "direct modex of a rank that has gone, asked by a host that had no connection to it" all_ok 3
for order in up down together; do
    for asker in 0 2 5; do
        client 3 2 modex left $asker $order
        ok "what ranks had posted is there when they and their hosts have left, $order, asked by rank $asker, 3x2" all_ok 6
    done
done
for asker in 0 2 5; do
    client 3 2 modex left $asker together collected
    ok "what ranks have posted after a fence that collected is there when they have left, asked by rank $asker" all_ok 6
done
configure '[transport]' 'radix = 2' # so that some hosts are behind others
for asker in 0 2 3; do
    client 4 1 modex left $asker up
    ok "what ranks had posted is there when they have left, rank $asker of a deeper tree" all_ok 4
    client 4 1 modex left $asker together
    ok "what ranks had posted is there when they have left together, rank $asker of a deeper tree" all_ok 4
done
configure
client 3 1 modex going
ok "direct modex of a rank that goes while it is asked" all_ok 3

done_testing
