#!/bin/bash
# Process groups: within one job, and between the steps of an allocation.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

# limited SECONDS DESCRIPTION HOSTS RANKS-PER-HOST CLIENT ...: all are to be ok in that time.
limited() {
    CLIENT_LIMIT=$(patience "$2" "$1") client "${@:3}"
    ok "$2" all_ok $(($3 * $4))
}

for shape in 1x4 3x1 4x2; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" group all
    ok "groups with context ids of their own, and data of all members, $shape" all_ok $((h * p))
    limited 60 "fences by a group's name, $shape" "$h" "$p" group fences
done
client 3 2 group parts
ok "two groups at once, beside a fence of the same processes" all_ok 6
client 2 3 group local
ok "groups of the processes of one host" all_ok 6
limited 60 "members of a group that was built by the wildcard are found by its name, 2x2" 2 2 group named
client 3 2 group said
ok "what each member says of itself, in two groups at once" all_ok 6
client 3 2 group assigned
ok "a handler hears of the context id of each group" all_ok 6
client 3 2 group_ends called
ok "a group's name stands for its members in PMIx_Job_control, a rank of it for one in PMIx_Abort" eval "ended_in_time && so_many_ok 5"
client 3 1 group refused
ok "a required directive that does not exist is refused on all hosts" all_ok 3
client 3 2 group nameless
ok "a group without a name is refused on all hosts, and they go on" all_ok 6
client 3 1 group lonely 5
ok "a member that does not come: the others hear of the timeout" all_ok 3

client 2 2 group timed
ok "a timeout that is not needed does no harm" all_ok 4

for how in kill segv exit; do
    for when in before inside; do
        client 3 1 group_ends die $how $when
        ok "a member ends: $how, $when the construct: an error for all" eval "ended_in_time && so_many_ok 2"
    done
done
client 3 1 group_ends die kill after
ok "a member is killed after it has joined: an error for all" eval "ended_in_time && so_many_ok 2"
for flag in optional ft notify; do
    for when in before inside; do
        client 3 1 group_ends die kill $when $flag
        ok "the group is built without a member that is killed $when: $flag" eval "ended_in_time && so_many_ok 2"
    done
done
client 3 1 group_ends shrink
ok "the end of a member is told to the others, who destruct the group without it" eval "ended_in_time && so_many_ok 2"

for shape in 1x4 3x1 3x2; do
    h=${shape%x*} p=${shape#*x}
    limited 60 "invited and joined, fences by name, $shape" "$h" "$p" group_invite accept
done
client 3 2 group_invite decline
ok "the inviter hears who declines" all_ok 6
client 3 1 group_invite silent
ok "one who never answers an invitation disturbs nobody else" all_ok 3
for how in kill exit leave; do
    client 3 2 group_invite ends $how
    ok "an invited process ends without an answer: $how: the inviter hears of it" eval "ended_in_time && so_many_ok 5"
done
client 3 2 group_invite leader
ok "the inviter is killed: the invited hear of it" eval "ended_in_time && so_many_ok 5"
limited 60 "a member leaves a group" 3 1 group_invite leave

# What libpmix 4.2.2 does not do, nor most of it 5.0.7 (contrib/doc/decisions/libpmix.md).
what="a member is killed while all others of its host wait"
CLIENT_LIMIT=$(patience "$what" 60) client 1 3 group_ends die kill inside
ok "$what" eval "ended_in_time && so_many_ok 2"
limited 60 "a member that does not come, and others of its host" 1 3 group lonely 2
client 3 1 group wildcard
ok "a group of all ranks by the wildcard has the data of all members" all_ok 3
limited 60 "an invitation with a timeout ends with it" 3 1 group_invite timeout

# pair SCRIPT: two steps at once in an allocation of three hosts
pair() {
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 --ntasks-per-node=8 bash -c "$1"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
}
pair "srun --mpi=pmixhost -N2 -n3 --overlap $clients/group pair k A B 3 &
    srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/group pair k B A 3 & wait"
ok "a group of the processes of two steps, three times" so_many_ok 7
is "everybody has the same context ids" "$(grep -c '^context' <<<"$output") $(grep '^context' <<<"$output" | sort -u | wc -l)" "21 3"
what="which fence by the group's name"
CLIENT_LIMIT=$(patience "$what" 60)
export CLIENT_LIMIT
pair "srun --mpi=pmixhost -N2 -n3 --overlap $clients/group pair k A B 1 fence &
    srun --mpi=pmixhost -N2 -n4 -r1 --overlap $clients/group pair k B A 1 fence & wait"
unset CLIENT_LIMIT
ok "$what" so_many_ok 7
ok "nothing is left" no_litter 20
done_testing
