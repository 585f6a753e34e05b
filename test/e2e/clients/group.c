/* PMIx_Group_construct and PMIx_Group_destruct.
 *
 *   group all            all ranks, with a context id: everybody gets the same one, no group gets one
 *                        that another has had; what was posted is there
 *   group fences         fences by the group's name
 *   group parts          the even and the odd ranks at once, beside a fence over the same processes
 *   group local          the ranks of each host for themselves
 *   group lonely SECONDS the last rank does not come: the others hear of a timeout
 *   group said           what each member says of itself (PMIX_GROUP_INFO), in each of two groups something else
 *   group assigned       a handler hears which context id each of two groups has
 *   group timed          all come well in time; nothing happens when the time is up
 *   group wildcard       all ranks by the wildcard, without a context id: what was posted is there
 *   group named          all ranks by the wildcard: what was posted is found by the group's name and the rank in it
 *   group refused        a required directive that does not exist: refused on all hosts
 *   group nameless       an empty name: refused on all hosts, which go on
 *   group pair KEY ME OTHER ROUNDS [fence]
 *        two jobs, which find each other by what they publish, build a group of all their ranks (and fence by its name)
 *
 * What becomes of them when members end: group_ends.c.
 */
#include "events.h"
#include "groups.h"
#include "peers.h"

static void fence_by_name(const char *name) {
    pmix_proc_t all = process(name, PMIX_RANK_WILDCARD), two[2] = {process(name, 0), process(name, 1)};
    must(fence_with(&all, 1, 0, 0));
    if (me.rank < 2 && me.size > 1)
        must(fence_with(two, 2, 0, 0));
}

/* Of a group of all ranks of this job, which has them in their order. */
static void check_card_of_member(const char *group, uint32_t rank) {
    char wanted[PMIX_MAX_NSLEN + 32];
    pmix_proc_t member = process(group, rank);
    pmix_value_t *v;
    me.doing = "PMIx_Get by a group's name";
    must(PMIx_Get(&member, "card", NULL, 0, &v));
    snprintf(wanted, sizeof(wanted), "%s %u", me.proc.nspace, rank);
    if (v->type != PMIX_STRING || strcmp(v->data.string, wanted) != 0)
        fail("the card of rank %u of %s says something else", rank, group);
    PMIX_VALUE_RELEASE(v);
}

enum { GROUPS = 4 };

static void all(void) {
    size_t n, ids[GROUPS + 1];
    pmix_proc_t *procs = list_of(0, 1, &n);
    char name[32];
    put_card();
    for (int i = 0; i < GROUPS; i++) {
        snprintf(name, sizeof(name), "test-group-%d", i);
        build(name, procs, n, CONTEXT, &ids[i]);
        for (uint32_t r = 0; i == 0 && r < me.size; r++)
            check_card(me.proc.nspace, r, true);
    }
    for (int i = 0; i < GROUPS; i++) {
        snprintf(name, sizeof(name), "test-group-%d", i);
        destruct(name);
    }
    build("test-group-0", procs, n, CONTEXT, &ids[GROUPS]); /* the name is free again */
    destruct("test-group-0");
    for (int i = 0; i <= GROUPS; i++) {
        for (int j = 0; j < i; j++)
            if (ids[i] == ids[j])
                fail("the context id %zu is given twice", ids[i]);
        snprintf(name, sizeof(name), "id%d", i);
        put_u64(name, ids[i]);
    }
    must(PMIx_Commit());
    fence_collect();
    for (int i = 0; i <= GROUPS; i++) {
        snprintf(name, sizeof(name), "id%d", i);
        if (get_u64(0, name) != ids[i])
            fail("rank 0 has another context id");
    }
    say("ids %zu %zu", ids[0], ids[1]);
    fence();
}

static void fences(void) {
    size_t n;
    pmix_proc_t *procs = list_of(0, 1, &n);
    build("test-fences", procs, n, 0, NULL);
    for (int i = 0; i < 3; i++)
        fence_by_name("test-fences");
    destruct("test-fences");
}

static void parts(void) {
    size_t n, id;
    pmix_proc_t *mine = list_of(me.rank % 2, 2, &n);
    const char *name = me.rank % 2 ? "odd" : "even";
    for (int i = 0; i < 20; i++) {
        struct answer fenced;
        answer_init(&fenced);
        must(PMIx_Fence_nb(mine, n, NULL, 0, answer_op, &fenced));
        build(name, mine, n, CONTEXT, &id);
        if (answer_wait(&fenced, "PMIx_Fence_nb") != PMIX_SUCCESS)
            fail("the fence beside it: %s", status_name(fenced.status));
        destruct(name);
    }
    fence();
}

static void local(void) {
    pmix_value_t *v;
    size_t id;
    if (!get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, &v))
        fail("no PMIX_LOCAL_PEERS");
    pmix_proc_t *procs = calloc(me.size, sizeof(*procs));
    size_t n = 0;
    char name[64], *rest = v->data.string;
    snprintf(name, sizeof(name), "local-%s", v->data.string);
    for (char *word; (word = strsep(&rest, ","));)
        procs[n++] = process(me.proc.nspace, (uint32_t)atoi(word));
    build(name, procs, n, 0, &id);
    destruct(name);
    build(name, procs, n, LOCAL, &id);
    destruct(name);
    build(name, procs, n, CONTEXT, &id);
    destruct(name);
    fence();
}

/* --- what members say of themselves, and what the host says of the group ---------------------------*/

static size_t number_in(uint32_t group, uint32_t rank) {
    return 1000 * (group + 1) + rank;
}

/* Builds a group in which this process' local number is that, and which has a context id. */
static size_t build_with_number(const char *name, const pmix_proc_t *procs, size_t n, size_t number) {
    pmix_info_t info[2], own, *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&own, PMIX_GROUP_LOCAL_CID, &number, PMIX_SIZE);
    pmix_data_array_t array = {.type = PMIX_INFO, .size = 1, .array = &own};
    PMIX_INFO_LOAD(&info[0], PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_REQUIRED(&info[1]);
    must(PMIx_Group_construct(name, procs, n, info, 2, &results, &nresults));
    return id_in(results, nresults);
}

static void said(void) {
    size_t n, ids[2];
    pmix_proc_t *procs = list_of(0, 1, &n);
    for (uint32_t group = 0; group < 2; group++)
        ids[group] = build_with_number(group ? "said-1" : "said-0", procs, n, number_in(group, me.rank));
    for (uint32_t i = 0; i < 2 * me.size; i++) {
        pmix_proc_t whom = process(me.proc.nspace, i / 2);
        pmix_value_t *v = NULL;
        pmix_info_t of;
        PMIX_INFO_LOAD(&of, PMIX_GROUP_CONTEXT_ID, &ids[i % 2], PMIX_SIZE);
        PMIX_INFO_SET_QUALIFIER(&of);
        me.doing = "PMIx_Get";
        pmix_status_t rc = PMIx_Get(&whom, PMIX_GROUP_LOCAL_CID, &of, 1, &v);
        if (rc != PMIX_SUCCESS)
            fail("the number of rank %u in group %u: %s", whom.rank, i % 2, status_name(rc));
        if (v->type != PMIX_SIZE || v->data.size != number_in(i % 2, whom.rank))
            fail("the number of rank %u in group %u is %zu", whom.rank, i % 2, v->data.size);
    }
    fence();
    destruct("said-0");
    destruct("said-1");
}

static struct {
    unsigned count;
    size_t ids[2];
} assigned; /* by what handlers have heard */

static void note_id(const struct event *event) {
    const pmix_value_t *group = carried(event, PMIX_GROUP_ID, PMIX_STRING),
                       *id = carried(event, PMIX_GROUP_CONTEXT_ID, PMIX_SIZE);
    if (!group || !id || strncmp(group->data.string, "assigned-", 9) || assigned.count >= 2) {
        note_wrong("an event without a group or a context id, or one too many");
        return;
    }
    assigned.ids[atoi(group->data.string + 9) % 2] = id->data.size;
    assigned.count++;
}
EVENT_HANDLER(on_id, note_id, PMIX_EVENT_ACTION_COMPLETE)

static void hear_ids(void) {
    pmix_status_t code = PMIX_GROUP_CONTEXT_ID_ASSIGNED;
    size_t n, ids[2];
    pmix_proc_t *procs = list_of(0, 1, &n);
    register_nb(&code, 1, on_id);
    fence();
    build("assigned-0", procs, n, CONTEXT, &ids[0]);
    build("plain", procs, n, 0, NULL); /* of which there is nothing to tell */
    build("assigned-1", procs, n, CONTEXT, &ids[1]);
    wait_for_count(&assigned.count, 2, "the context ids of two groups");
    for (int i = 0; i < 2; i++)
        if (assigned.ids[i] != ids[i])
            fail("the context id of group %d is %zu, not %zu", i, assigned.ids[i], ids[i]);
    destruct("plain");
    destruct("assigned-0");
    destruct("assigned-1");
    fence();
    fail_if_wrong();
}

/* --- two jobs ------------------------------------------------------------------------------------*/

static void pair(const char *key, const char *own, const char *its, int rounds, bool fences) {
    size_t n, id, before = SIZE_MAX;
    char name[64];
    put_card();
    struct job other = meet(key, own, its, PMIX_PERSIST_INVALID);
    pmix_proc_t *procs = list_of(0, 1, &n);
    procs = realloc(procs, (n + other.size) * sizeof(*procs));
    for (uint32_t r = 0; r < other.size; r++)
        procs[n++] = process(other.nspace, r);
    pmix_status_t rc = construct("refused", procs, n, CONTEXT | OPTIONAL | MUST_HOLD, 0, NULL);
    if (rc != PMIX_ERR_NOT_SUPPORTED) /* nobody hears of ends in another job */
        fail("a required PMIX_GROUP_OPTIONAL: %s", status_name(rc));
    for (int i = 0; i < rounds; i++) {
        snprintf(name, sizeof(name), "%s-group-%d", key, i);
        build(name, procs, n, CONTEXT, &id);
        if (id == before)
            fail("the context id %zu is given twice", id);
        before = id;
        check_size(&other);
        for (uint32_t r = 0; r < other.size; r++)
            check_card(other.nspace, r, false);
        for (uint32_t r = 0; r < me.size; r++)
            check_card(me.proc.nspace, r, false);
        pmix_proc_t group = process(name, PMIX_RANK_WILDCARD);
        if (fences)
            must(fence_with(&group, 1, 0, 0));
        say("context %s %d: %zu", key, i, id);
        destruct(name);
    }
    fence();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    size_t n;
    begin(90);
    if (!strcmp(what, "all")) {
        all();
    } else if (!strcmp(what, "fences")) {
        fences();
    } else if (!strcmp(what, "parts")) {
        parts();
    } else if (!strcmp(what, "local")) {
        local();
    } else if (!strcmp(what, "said")) {
        said();
    } else if (!strcmp(what, "assigned")) {
        hear_ids();
    } else if (!strcmp(what, "lonely") && argc > 2) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        fence();
        if (me.rank < me.size - 1) {
            pmix_status_t rc = construct("test-lonely", procs, n, 0, atoi(argv[2]), NULL);
            if (rc != PMIX_ERR_TIMEOUT)
                fail("%s", status_name(rc));
        }
        fence();
    } else if (!strcmp(what, "timed")) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        fence(); /* the time begins with the first that comes */
        pmix_status_t rc = construct("test-timed", procs, n, 0, 10, NULL);
        if (rc != PMIX_SUCCESS)
            fail("%s", status_name(rc));
        struct timespec longer = {11, 0}; /* than the time: the server must live beyond it */
        nanosleep(&longer, NULL);
        fence();
        destruct("test-timed");
    } else if (!strcmp(what, "wildcard")) {
        pmix_proc_t everyone = process(me.proc.nspace, PMIX_RANK_WILDCARD);
        put_card();
        build("test-wildcard", &everyone, 1, 0, NULL);
        for (uint32_t r = 0; r < me.size; r++)
            check_card(me.proc.nspace, r, true);
        destruct("test-wildcard");
    } else if (!strcmp(what, "named")) {
        pmix_proc_t everyone = process(me.proc.nspace, PMIX_RANK_WILDCARD);
        put_card();
        build("test-named", &everyone, 1, CONTEXT, &n);
        for (uint32_t r = 0; r < me.size; r++)
            check_card_of_member("test-named", r);
        destruct("test-named");
    } else if (!strcmp(what, "refused")) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        pmix_status_t rc = construct("test-refused", procs, n, me.rank == 0 ? UNKNOWN : 0, 0, NULL);
        if (rc != PMIX_ERR_NOT_SUPPORTED)
            fail("%s", status_name(rc));
        fence();
    } else if (!strcmp(what, "nameless")) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        for (int i = 0; i < 2; i++) {
            pmix_status_t rc = construct("", procs, n, 0, 0, NULL);
            if (rc != PMIX_ERR_BAD_PARAM)
                fail("%s", status_name(rc));
            fence();
        }
        size_t id;
        build("test-named", procs, n, CONTEXT, &id);
    } else if (!strcmp(what, "pair") && argc > 5) {
        pair(argv[2], argv[3], argv[4], atoi(argv[5]), argc > 6);
    } else {
        fail("what is '%s'?", what);
    }
    pass();
}
