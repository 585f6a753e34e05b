/* PMIx_Group_invite, join (accept, decline) and leave. Rank 0 invites all.
 *
 *   group_invite accept     all accept: the inviter hears that the group is complete, the others the event,
 *                           and all fence by its name
 *   group_invite decline    the last rank declines, of which the inviter hears
 *   group_invite silent     the last rank never answers, which disturbs nobody else
 *   group_invite timeout    the same, and the inviter has given PMIX_TIMEOUT
 *   group_invite ends HOW   the last rank is killed (kill), exits (exit), or leaves in order (leave), without
 *                           having answered: the inviter hears of a failed invitation
 *   group_invite leader     the inviter is killed before all have answered: the invited hear of it
 *   group_invite leave      a member leaves the group
 */
#include "events.h"

enum { KINDS = 7 };
static pmix_status_t codes[KINDS] = {
    PMIX_GROUP_INVITED,       PMIX_GROUP_INVITE_ACCEPTED, PMIX_GROUP_INVITE_DECLINED,
    PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_LEADER_FAILED,   PMIX_GROUP_CONSTRUCT_COMPLETE,
    PMIX_GROUP_LEFT};
static unsigned heard[KINDS];
static pmix_proc_t who[KINDS]; /* the affected process, or the source of the last one */
static char group[KINDS][PMIX_MAX_NSLEN + 1];
static const char *name = "test-invited";

static int kind_of(pmix_status_t code) {
    for (int i = 0; i < KINDS; i++)
        if (codes[i] == code)
            return i;
    return 0;
}

static void note(const struct event *event) {
    const pmix_value_t *id = carried(event, PMIX_GROUP_ID, PMIX_STRING),
                       *affected = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    int kind = kind_of(event->code);
    who[kind] = affected ? *affected->data.proc : *event->source;
    if (id)
        snprintf(group[kind], sizeof(group[kind]), "%s", id->data.string);
    heard[kind]++;
}
EVENT_HANDLER(on_event, note, PMIX_EVENT_NO_ACTION_TAKEN)

static void wait_for(pmix_status_t code, unsigned times) {
    wait_for_count(&heard[kind_of(code)], times, status_name(code));
}

static void reply(pmix_group_opt_t opt) {
    static struct answer joined;
    answer_init(&joined);
    wait_for(PMIX_GROUP_INVITED, 1);
    if (strcmp(group[0], name) || who[0].rank != 0)
        fail("invited to %s by %u", group[0], who[0].rank);
    must(PMIx_Group_join_nb(name, &who[0], opt, NULL, 0, answer_info, &joined));
    if (answer_wait(&joined, "PMIx_Group_join_nb") != PMIX_SUCCESS)
        fail("join: %s", status_name(joined.status));
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "accept";
    begin(30);
    need(3);
    uint32_t last = me.size - 1;
    size_t n;
    pmix_proc_t *procs = all_but(me.size, &n), everyone;
    struct answer invited;
    answer_init(&invited);
    for (int i = 0; i < KINDS; i++) /* one by one: those come before the handler of PMIx_Group_invite */
        register_nb(&codes[i], 1, on_event);
    fence();

    bool whole = !strcmp(what, "accept") || !strcmp(what, "leave");
    if (me.rank == 0 && whole) {
        pmix_info_t *results = NULL;
        size_t nresults = 0;
        must(PMIx_Group_invite(name, procs, me.size, NULL, 0, &results, &nresults));
    } else if (me.rank == 0 && !strcmp(what, "timeout")) {
        pmix_info_t limit, *results = NULL;
        size_t nresults = 0;
        int seconds = 2;
        PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
        me.doing = "PMIx_Group_invite";
        pmix_status_t rc = PMIx_Group_invite(name, procs, me.size, &limit, 1, &results, &nresults);
        if (rc != PMIX_ERR_TIMEOUT)
            fail("invite: %s", status_name(rc));
    } else if (me.rank == 0) {
        must(PMIx_Group_invite_nb(name, procs, me.size, NULL, 0, answer_info, &invited));
    }
    if (whole) {
        if (me.rank != 0) {
            reply(PMIX_GROUP_ACCEPT);
            wait_for(PMIX_GROUP_CONSTRUCT_COMPLETE, 1);
        }
        everyone = process(name, PMIX_RANK_WILDCARD);
        must(fence_with(&everyone, 1, 0, 0));
        if (!strcmp(what, "leave")) {
            if (me.rank == last)
                must(PMIx_Group_leave(name, NULL, 0));
            else
                wait_for(PMIX_GROUP_LEFT, 1);
        } else {
            must(PMIx_Group_destruct(name, NULL, 0));
        }
        fence();
    } else if (!strcmp(what, "decline")) {
        if (me.rank == 0) {
            wait_for(PMIX_GROUP_INVITE_DECLINED, 1);
            if (who[2].rank != last)
                fail("rank %u declined", who[2].rank);
        } else {
            reply(me.rank == last ? PMIX_GROUP_DECLINE : PMIX_GROUP_ACCEPT);
        }
        fence();
    } else if (!strcmp(what, "silent")) {
        if (me.rank == last)
            wait_for(PMIX_GROUP_INVITED, 1);
        else if (me.rank != 0)
            reply(PMIX_GROUP_ACCEPT);
        fence();
        if (heard[5] || heard[3])
            fail("a group without an answer of all");
        fence();
    } else if (!strcmp(what, "timeout")) {
        /* rank 0 has called the other form above */
        if (me.rank == last)
            wait_for(PMIX_GROUP_INVITED, 1);
        else if (me.rank != 0)
            reply(PMIX_GROUP_ACCEPT);
        fence();
    } else if (!strcmp(what, "ends") && argc > 2) {
        if (me.rank == last) {
            wait_for(PMIX_GROUP_INVITED, 1);
            if (!strcmp(argv[2], "leave")) {
                must(PMIx_Finalize(NULL, 0));
                _exit(0);
            }
            end_by(argv[2]);
        }
        if (me.rank != 0)
            reply(PMIX_GROUP_ACCEPT);
        else
            wait_for(PMIX_GROUP_INVITE_FAILED, 1);
        if (me.rank == 0 && (who[3].rank != last || strcmp(group[3], name)))
            fail("the invitation of %u to %s failed", who[3].rank, group[3]);
        say("ok %d", (int)me.rank);
        _exit(0);
    } else if (!strcmp(what, "leader")) {
        if (me.rank == 0) {
            for (uint32_t r = 1; r < me.size; r++) /* all have it, one will not answer */
                if (r != last)
                    wait_for(PMIX_GROUP_INVITE_ACCEPTED, r);
            raise(SIGKILL);
        }
        if (me.rank == last)
            wait_for(PMIX_GROUP_INVITED, 1);
        else
            reply(PMIX_GROUP_ACCEPT);
        wait_for(PMIX_GROUP_LEADER_FAILED, 1);
        if (who[4].rank != 0 || strcmp(group[4], name))
            fail("the leader %u of %s failed", who[4].rank, group[4]);
        say("ok %d", (int)me.rank);
        _exit(0);
    } else {
        fail("what is '%s'?", what);
    }
    pass();
}
