/* PMIx_Connect and PMIx_Disconnect.
 *
 *   connect own                     over the own namespace, all of it and a part, several times
 *   connect pair KEY ME OTHER ROUNDS [MODE]
 *        two jobs, which find each other by what they publish as KEY.ME and KEY.OTHER, connect,
 *        read each other's job information and posted data, fence together, disconnect, again
 *        MODE: wildcard (default), list (every rank by number), words (one side each), part (only
 *        the ranks 0 and 1 of each)
 *   connect lonely SECONDS          to a namespace that never comes: ends with the timeout
 *   connect unmet KEY ME OTHER      two jobs that have not connected fence, when only one host of each has
 *                                   heard of the other; then with a job that there is not
 *   connect together KEY ME OTHER ROUNDS  as pair: each round connects, builds a group and fences at once
 *   connect die KEY ME OTHER [late] as pair, but rank 0 of the job A dies before it connects; late: B
 *                                   connects when nothing is left of A, and with it of what it published
 *   connect absent KEY ME OTHER [leaves]
 *        the last rank of A dies, or leaves in order, and nobody else of A connects; all of B connect to
 *        that rank alone
 *   connect sets KEY ME OTHER EXPECTED
 *        as pair: the other job's process sets are defined with the connect and deleted with the
 *        disconnect, and this rank hears of both, each time
 */
#include "events.h"
#include "peers.h"
#include "sets.h"

static struct job other;

/* What a job that has ended had announced of itself. */
static void wait_for_end_of(const char *key, const char *name) {
    pmix_pdata_t data;
    pmix_status_t rc;
    char whole[64];
    double limit = now() + 60;
    snprintf(whole, sizeof(whole), "%s.%s", key, name);
    do {
        PMIX_PDATA_CONSTRUCT(&data);
        PMIX_LOAD_KEY(data.key, whole);
        rc = PMIx_Lookup(&data, 1, NULL, 0);
        PMIX_PDATA_DESTRUCT(&data);
    } while (rc == PMIX_SUCCESS && now() < limit);
    if (rc != PMIX_ERR_NOT_FOUND)
        fail("what %s published: %s", whole, status_name(rc));
}

static size_t add_all(pmix_proc_t *procs, size_t n, const char *nspace, uint32_t size, bool list) {
    if (!list)
        procs[n++] = process(nspace, PMIX_RANK_WILDCARD);
    for (uint32_t r = list ? size : 0; r-- > 0;) /* in no sensible order */
        procs[n++] = process(nspace, r);
    return n;
}

static void look_at_the_other(uint32_t ranks) {
    pmix_value_t *v;
    pmix_proc_t whole = process(other.nspace, PMIX_RANK_WILDCARD);
    check_size(&other);
    must(PMIx_Get(&whole, PMIX_NUM_NODES, NULL, 0, &v));
    if (v->data.uint32 < 1 || v->data.uint32 > other.size)
        fail("PMIX_NUM_NODES of %s is %u", other.nspace, v->data.uint32);
    PMIX_VALUE_RELEASE(v);
    for (uint32_t r = 0; r < ranks; r++)
        check_card(other.nspace, r, false);
}

static void pair(const char *key, const char *own, const char *its, int rounds, const char *mode) {
    put_card();
    other = meet(key, own, its, PMIX_PERSIST_SESSION);
    pmix_proc_t *procs = calloc(me.size + other.size, sizeof(*procs));
    size_t n = 0;
    uint32_t ranks = other.size;
    if (!strcmp(mode, "part")) {
        for (uint32_t r = 0; r < 2; r++) {
            procs[n++] = process(me.proc.nspace, r);
            procs[n++] = process(other.nspace, r);
        }
        ranks = 2;
        fence(); /* the others have found what the other job takes along when it ends */
    } else {
        bool list = !strcmp(mode, "list") || (!strcmp(mode, "words") && !strcmp(own, "A"));
        n = add_all(procs, n, other.nspace, other.size, list);
        n = add_all(procs, n, me.proc.nspace, me.size, list);
    }
    if (strcmp(mode, "part") || me.rank < 2) {
        for (int i = 0; i < rounds; i++) {
            must(PMIx_Connect(procs, n, NULL, 0));
            look_at_the_other(ranks);
            must(fence_with(procs, n, 0, 0));
            must(PMIx_Disconnect(procs, n, NULL, 0));
        }
    }
    fence();
}

static void fence_unmet(const char *key, const char *own, const char *its) {
    pmix_proc_t procs[2];
    other = meet(key, own, its, PMIX_PERSIST_SESSION);
    if (me.rank == 0)
        check_size(&other);
    fence();
    both_jobs(procs, other.nspace);
    must(fence_with(procs, 2, 0, 0));
    both_jobs(procs, "nobody.knows");
    pmix_status_t rc = fence_with(procs, 2, 0, 0);
    if (rc != PMIX_ERR_NOT_FOUND)
        fail("a fence with nobody: %s", status_name(rc));
    fence();
}

/* --- process sets ---------------------------------------------------------------------------------*/

static unsigned defined[MAX_SETS], deleted[MAX_SETS];

static void note(const struct event *event) {
    const pmix_value_t *name = carried(event, PMIX_PSET_NAME, PMIX_STRING),
                       *members = carried(event, PMIX_PSET_MEMBERS, PMIX_DATA_ARRAY);
    struct set *set = name ? find_set(name->data.string) : NULL;
    bool define = event->code == PMIX_PROCESS_SET_DEFINE;
    if (!name)
        note_wrong("an event without a name");
    else if (set && define && (!members || !is_set(set, members, other.nspace)))
        note_wrong("the members of %.200s", set->name);
    else if (set) /* not the own job's, which may come as well */
        ++(define ? defined : deleted)[set - sets];
}
EVENT_HANDLER(on_set, note, PMIX_SUCCESS)

static void hear(const unsigned *what, unsigned times, const char *word) {
    for (size_t i = 0; i < nsets; i++)
        wait_for_count(&what[i], times, word);
    for (size_t i = 0; i < nsets; i++)
        if (what[i] != times)
            fail("%.200s was %s %u times", sets[i].name, word, what[i]);
}

static void hear_of_sets(const char *key, const char *own, const char *its) {
    pmix_status_t codes[] = {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE};
    pmix_proc_t procs[2];
    register_for(codes, 2, on_set);
    other = meet(key, own, its, PMIX_PERSIST_SESSION);
    both_jobs(procs, other.nspace);
    for (unsigned round = 1; round <= 2; round++) {
        connect_with(other.nspace);
        hear(defined, round, "defined");
        must(fence_with(procs, 2, 0, 0));
        disconnect_from(other.nspace);
        hear(deleted, round, "deleted");
    }
    fence();
}

static void wait_for(struct answer *answer, const char *call) {
    pmix_status_t rc = answer_wait(answer, call);
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", call, status_name(rc));
}

/* A fence of the own job, a connect and a group of all at once, each rank in an order of its own. */
static void together(const char *key, const char *own, const char *its, int rounds) {
    char name[64];
    other = meet(key, own, its, PMIX_PERSIST_SESSION);
    pmix_proc_t *procs = calloc(me.size + other.size, sizeof(*procs));
    size_t n = add_all(procs, 0, other.nspace, other.size, true);
    n = add_all(procs, n, me.proc.nspace, me.size, true);
    pmix_info_t context;
    bool yes = true;
    PMIX_INFO_LOAD(&context, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    const char *calls[] = {"fence", "connect", "group construct"};
    struct answer answers[3], disconnected, destructed;
    for (int i = 0; i < 3; i++)
        answer_init(&answers[i]);
    answer_init(&disconnected);
    answer_init(&destructed);
    for (int round = 0; round < rounds; round++) {
        snprintf(name, sizeof(name), "%s.%d", key, round);
        for (int k = 0; k < 3; k++) {
            switch ((k + (int)me.rank + round) % 3) {
            case 0:
                must(PMIx_Fence_nb(NULL, 0, NULL, 0, answer_op, &answers[0]));
                break;
            case 1:
                must(PMIx_Connect_nb(procs, n, NULL, 0, answer_op, &answers[1]));
                break;
            default:
                must(PMIx_Group_construct_nb(name, procs, n, &context, 1, answer_info, &answers[2]));
            }
        }
        for (int k = 0; k < 3; k++)
            wait_for(&answers[k], calls[k]);
        if (me.rank % 2)
            must(PMIx_Group_destruct_nb(name, NULL, 0, answer_op, &destructed));
        must(PMIx_Disconnect_nb(procs, n, NULL, 0, answer_op, &disconnected));
        if (me.rank % 2 == 0)
            must(PMIx_Group_destruct_nb(name, NULL, 0, answer_op, &destructed));
        wait_for(&disconnected, "disconnect");
        wait_for(&destructed, "group destruct");
    }
    free(procs);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "own";
    begin(90);
    if (!strcmp(what, "own")) {
        pmix_proc_t procs[2] = {process(me.proc.nspace, PMIX_RANK_WILDCARD)};
        for (int i = 0; i < 5; i++) {
            must(PMIx_Connect(procs, 1, NULL, 0));
            must(PMIx_Disconnect(procs, 1, NULL, 0));
        }
        procs[0] = process(me.proc.nspace, me.size - 1);
        procs[1] = process(me.proc.nspace, 0);
        if (me.rank == 0 || me.rank == me.size - 1) {
            must(PMIx_Connect(procs, 2, NULL, 0));
            must(fence_with(procs, 2, 0, 0));
            must(PMIx_Disconnect(procs, 2, NULL, 0));
        }
        fence();
    } else if (!strcmp(what, "pair") && argc > 5) {
        pair(argv[2], argv[3], argv[4], atoi(argv[5]), argc > 6 ? argv[6] : "wildcard");
    } else if (!strcmp(what, "sets") && argc > 5) {
        expect_sets(argv[5]);
        hear_of_sets(argv[2], argv[3], argv[4]);
    } else if (!strcmp(what, "lonely") && argc > 2) {
        pmix_proc_t procs[2];
        pmix_info_t info;
        int seconds = atoi(argv[2]);
        double start = now();
        PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
        both_jobs(procs, "nobody.knows");
        me.doing = "PMIx_Connect";
        pmix_status_t rc = PMIx_Connect(procs, 2, &info, 1);
        if (rc == PMIX_SUCCESS || now() - start > seconds + 50)
            fail("%s after %.1f s", status_name(rc), now() - start);
        say("lonely %u: %s", me.rank, status_name(rc));
    } else if (!strcmp(what, "unmet") && argc > 4) {
        fence_unmet(argv[2], argv[3], argv[4]);
    } else if (!strcmp(what, "together") && argc > 5) {
        together(argv[2], argv[3], argv[4], atoi(argv[5]));
    } else if (!strcmp(what, "die") && argc > 4) {
        if (me.rank == 0 && !strcmp(argv[3], "A"))
            announce(argv[2], "alive", PMIX_PERSIST_APP);
        other = meet(argv[2], argv[3], argv[4], PMIX_PERSIST_SESSION);
        if (me.rank == 0 && !strcmp(argv[3], "A"))
            _exit(7);
        if (argc > 5 && !strcmp(argv[3], "B"))
            wait_for_end_of(argv[2], "alive");
        pmix_proc_t procs[2];
        both_jobs(procs, other.nspace);
        me.doing = "PMIx_Connect";
        pmix_status_t rc = PMIx_Connect(procs, 2, NULL, 0);
        if (rc == PMIX_SUCCESS)
            fail("connected with a process that has ended");
        say("connect %s.%u: %s", argv[3], me.rank, status_name(rc));
        say("ok %d", (int)me.rank);
        _exit(0);
    } else if (!strcmp(what, "absent") && argc > 4) {
        if (!strcmp(argv[3], "A")) {
            if (me.rank == me.size - 1 && argc > 5)
                pass();
            if (me.rank == me.size - 1)
                _exit(7);
            if (me.rank == 0)
                meet(argv[2], argv[3], argv[4], PMIX_PERSIST_SESSION);
            pass();
        }
        other = find_job(argv[2], argv[4]);
        pmix_proc_t procs[2] = {process(me.proc.nspace, PMIX_RANK_WILDCARD), process(other.nspace, other.size - 1)};
        me.doing = "PMIx_Connect";
        pmix_status_t rc = PMIx_Connect(procs, 2, NULL, 0);
        if (rc == PMIX_SUCCESS)
            fail("connected with a process that has ended");
        fence();
        if (me.rank == 0)
            announce(argv[2], argv[3], PMIX_PERSIST_SESSION);
    } else {
        fail("what is '%s'?", what);
    }
    pass();
}
