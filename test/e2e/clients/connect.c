/* PMIx_Connect and PMIx_Disconnect.
 *
 *   connect own                     over the own namespace, all of it and a part, several times
 *   connect pair KEY ME OTHER ROUNDS [MODE]
 *        two jobs, which find each other by what they publish as KEY.ME and KEY.OTHER, connect,
 *        read each other's job information and posted data, fence together, disconnect, again
 *        MODE: wildcard (default), list (every rank by number), words (one side each), part (only
 *        the ranks 0 and 1 of each)
 *   connect lonely SECONDS          to a namespace that never comes: ends with the timeout
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
#include <pthread.h>

#include "sets.h"

static char other[PMIX_MAX_NSLEN + 1];
static uint32_t other_size;

static void wait_for_end_of(const char *key) {
    pmix_pdata_t data;
    pmix_status_t rc;
    double limit = now() + 60;
    do {
        PMIX_PDATA_CONSTRUCT(&data);
        PMIX_LOAD_KEY(data.key, key);
        rc = PMIx_Lookup(&data, 1, NULL, 0);
        PMIX_PDATA_DESTRUCT(&data);
    } while (rc == PMIX_SUCCESS && now() < limit);
    if (rc != PMIX_ERR_NOT_FOUND)
        fail("what %s published: %s", key, PMIx_Error_string(rc));
}

static void publish_own(const char *key, pmix_persistence_t as_long_as) {
    pmix_info_t info[2];
    char text[PMIX_MAX_NSLEN + 32];
    snprintf(text, sizeof(text), "%s %u", me.proc.nspace, me.size);
    PMIX_INFO_LOAD(&info[0], key, text, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &as_long_as, PMIX_PERSIST);
    must(PMIx_Publish(info, 2));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

static void find_other(const char *key) {
    pmix_pdata_t data;
    pmix_info_t info[2];
    int all = 0, seconds = 40;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    must(PMIx_Lookup(&data, 1, info, 2));
    if (sscanf(data.value.data.string, "%255s %u", other, &other_size) != 2)
        fail("what is '%s'?", data.value.data.string);
}

static size_t add_all(pmix_proc_t *procs, size_t n, const char *nspace, uint32_t size, bool list) {
    if (!list) {
        PMIX_LOAD_PROCID(&procs[n], nspace, PMIX_RANK_WILDCARD);
        return n + 1;
    }
    for (uint32_t r = size; r-- > 0;) { /* in no sensible order */
        PMIX_LOAD_PROCID(&procs[n], nspace, r);
        n++;
    }
    return n;
}

static void look_at_the_other(uint32_t ranks) {
    pmix_value_t *v;
    pmix_proc_t p;
    PMIX_LOAD_PROCID(&p, other, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&p, PMIX_JOB_SIZE, NULL, 0, &v));
    if (v->data.uint32 != other_size)
        fail("PMIX_JOB_SIZE of %s is %u, not %u", other, v->data.uint32, other_size);
    PMIX_VALUE_RELEASE(v);
    must(PMIx_Get(&p, PMIX_NUM_NODES, NULL, 0, &v));
    if (v->data.uint32 < 1 || v->data.uint32 > other_size)
        fail("PMIX_NUM_NODES of %s is %u", other, v->data.uint32);
    PMIX_VALUE_RELEASE(v);
    for (uint32_t r = 0; r < ranks; r++) {
        char wanted[64];
        p.rank = r;
        must(PMIx_Get(&p, "card", NULL, 0, &v));
        snprintf(wanted, sizeof(wanted), "rank %u", r);
        if (v->type != PMIX_STRING || strcmp(v->data.string, wanted) != 0)
            fail("the card of rank %u says something else", r);
        PMIX_VALUE_RELEASE(v);
    }
}

static void pair(const char *key, const char *own, const char *its, int rounds, const char *mode) {
    char mine[64], theirs[64], text[64];
    snprintf(mine, sizeof(mine), "%s.%s", key, own);
    snprintf(theirs, sizeof(theirs), "%s.%s", key, its);
    snprintf(text, sizeof(text), "rank %u", me.rank);
    pmix_value_t card = {.type = PMIX_STRING, .data.string = text};
    must(PMIx_Put(PMIX_GLOBAL, "card", &card));
    must(PMIx_Commit());
    if (me.rank == 0)
        publish_own(mine, PMIX_PERSIST_SESSION);
    find_other(theirs);
    pmix_proc_t *procs = calloc(me.size + other_size, sizeof(*procs));
    size_t n = 0;
    uint32_t ranks = other_size;
    if (!strcmp(mode, "part")) {
        for (uint32_t r = 0; r < 2; r++) {
            PMIX_LOAD_PROCID(&procs[n], me.proc.nspace, r);
            PMIX_LOAD_PROCID(&procs[n + 1], other, r);
            n += 2;
        }
        ranks = 2;
        fence(); /* the others have found what the other job takes along when it ends */
    } else {
        bool list = !strcmp(mode, "list") || (!strcmp(mode, "words") && !strcmp(own, "A"));
        n = add_all(procs, n, other, other_size, list);
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

/* --- process sets ---------------------------------------------------------------------------------*/

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned defined[MAX_SETS], deleted[MAX_SETS];
static char wrong[512];

static void on_set(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    const pmix_value_t *name = NULL, *members = NULL;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_NAME) && info[i].value.type == PMIX_STRING)
            name = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_MEMBERS))
            members = &info[i].value;
    }
    pthread_mutex_lock(&lock);
    struct set *set = name ? find_set(name->data.string) : NULL;
    if (!name)
        snprintf(wrong, sizeof(wrong), "an event without a name");
    else if (set && status == PMIX_PROCESS_SET_DEFINE && (!members || !is_set(set, members, other)))
        snprintf(wrong, sizeof(wrong), "the members of %.200s", set->name);
    else if (set) /* not the own job's, which may come as well */
        ++(status == PMIX_PROCESS_SET_DEFINE ? defined : deleted)[set - sets];
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void hear(unsigned *what, unsigned times, const char *word) {
    me.doing = word;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < nsets; i++)
        while (what[i] < times && !wrong[0])
            pthread_cond_wait(&changed, &lock); /* at most until the alarm */
    for (size_t i = 0; i < nsets && !wrong[0]; i++)
        if (what[i] != times)
            snprintf(wrong, sizeof(wrong), "%.200s was %s %u times", sets[i].name, word, what[i]);
    pthread_mutex_unlock(&lock);
    if (wrong[0])
        fail("%s", wrong);
}

static void hear_of_sets(const char *key, const char *own, const char *its) {
    pmix_status_t codes[] = {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE};
    char mine[64], theirs[64];
    pmix_proc_t procs[2];
    snprintf(mine, sizeof(mine), "%s.%s", key, own);
    snprintf(theirs, sizeof(theirs), "%s.%s", key, its);
    me.doing = "PMIx_Register_event_handler";
    pmix_status_t rc = PMIx_Register_event_handler(codes, 2, NULL, 0, on_set, NULL, NULL);
    if (rc < 0)
        fail("PMIx_Register_event_handler: %s", PMIx_Error_string(rc));
    if (me.rank == 0)
        publish_own(mine, PMIX_PERSIST_SESSION);
    find_other(theirs);
    PMIX_LOAD_PROCID(&procs[0], me.proc.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&procs[1], other, PMIX_RANK_WILDCARD);
    for (unsigned round = 1; round <= 2; round++) {
        must(PMIx_Connect(procs, 2, NULL, 0));
        hear(defined, round, "defined");
        must(fence_with(procs, 2, 0, 0));
        must(PMIx_Disconnect(procs, 2, NULL, 0));
        hear(deleted, round, "deleted");
    }
    fence();
}

struct call {
    const char *name;
    pmix_status_t status;
    sem_t done;
};

static void on_call(pmix_status_t status, void *data) {
    struct call *call = data;
    call->status = status;
    sem_post(&call->done);
}

static void on_group(pmix_status_t status, pmix_info_t *info, size_t n, void *data, pmix_release_cbfunc_t release,
                     void *release_data) {
    (void)info;
    (void)n;
    if (release)
        release(release_data);
    on_call(status, data);
}

static void wait_for(struct call *call) {
    me.doing = call->name;
    while (sem_wait(&call->done))
        ;
    if (call->status != PMIX_SUCCESS)
        fail("%s: %s", call->name, PMIx_Error_string(call->status));
}

/* A fence of the own job, a connect and a group of all at once, each rank in an order of its own. */
static void together(const char *key, const char *own, const char *its, int rounds) {
    char mine[64], theirs[64], name[64];
    snprintf(mine, sizeof(mine), "%s.%s", key, own);
    snprintf(theirs, sizeof(theirs), "%s.%s", key, its);
    if (me.rank == 0)
        publish_own(mine, PMIX_PERSIST_SESSION);
    find_other(theirs);
    pmix_proc_t *procs = calloc(me.size + other_size, sizeof(*procs));
    size_t n = add_all(procs, 0, other, other_size, true);
    n = add_all(procs, n, me.proc.nspace, me.size, true);
    pmix_info_t context;
    bool yes = true;
    PMIX_INFO_LOAD(&context, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    struct call calls[] = {{.name = "fence"},
                           {.name = "connect"},
                           {.name = "group construct"},
                           {.name = "disconnect"},
                           {.name = "group destruct"}};
    for (int i = 0; i < 5; i++)
        sem_init(&calls[i].done, 0, 0);
    for (int round = 0; round < rounds; round++) {
        snprintf(name, sizeof(name), "%s.%d", key, round);
        for (int k = 0; k < 3; k++) {
            switch ((k + (int)me.rank + round) % 3) {
            case 0:
                must(PMIx_Fence_nb(NULL, 0, NULL, 0, on_call, &calls[0]));
                break;
            case 1:
                must(PMIx_Connect_nb(procs, n, NULL, 0, on_call, &calls[1]));
                break;
            default:
                must(PMIx_Group_construct_nb(name, procs, n, &context, 1, on_group, &calls[2]));
            }
        }
        for (int k = 0; k < 3; k++)
            wait_for(&calls[k]);
        if (me.rank % 2)
            must(PMIx_Group_destruct_nb(name, NULL, 0, on_call, &calls[4]));
        must(PMIx_Disconnect_nb(procs, n, NULL, 0, on_call, &calls[3]));
        if (me.rank % 2 == 0)
            must(PMIx_Group_destruct_nb(name, NULL, 0, on_call, &calls[4]));
        wait_for(&calls[3]);
        wait_for(&calls[4]);
    }
    free(procs);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "own";
    begin(90);
    if (!strcmp(what, "own")) {
        pmix_proc_t procs[2];
        PMIX_LOAD_PROCID(&procs[0], me.proc.nspace, PMIX_RANK_WILDCARD);
        for (int i = 0; i < 5; i++) {
            must(PMIx_Connect(procs, 1, NULL, 0));
            must(PMIx_Disconnect(procs, 1, NULL, 0));
        }
        PMIX_LOAD_PROCID(&procs[0], me.proc.nspace, me.size - 1);
        PMIX_LOAD_PROCID(&procs[1], me.proc.nspace, 0);
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
        PMIX_LOAD_PROCID(&procs[0], me.proc.nspace, PMIX_RANK_WILDCARD);
        PMIX_LOAD_PROCID(&procs[1], "nobody.knows", PMIX_RANK_WILDCARD);
        me.doing = "PMIx_Connect";
        pmix_status_t rc = PMIx_Connect(procs, 2, &info, 1);
        if (rc == PMIX_SUCCESS || now() - start > seconds + 50)
            fail("%s after %.1f s", PMIx_Error_string(rc), now() - start);
        say("lonely %u: %s", me.rank, PMIx_Error_string(rc));
    } else if (!strcmp(what, "together") && argc > 5) {
        together(argv[2], argv[3], argv[4], atoi(argv[5]));
    } else if (!strcmp(what, "die") && argc > 4) {
        char mine[64], theirs[64], alive[64];
        snprintf(mine, sizeof(mine), "%s.%s", argv[2], argv[3]);
        snprintf(theirs, sizeof(theirs), "%s.%s", argv[2], argv[4]);
        snprintf(alive, sizeof(alive), "%s.alive", argv[2]);
        if (me.rank == 0 && !strcmp(argv[3], "A"))
            publish_own(alive, PMIX_PERSIST_APP);
        if (me.rank == 0)
            publish_own(mine, PMIX_PERSIST_SESSION);
        find_other(theirs);
        if (me.rank == 0 && !strcmp(argv[3], "A"))
            _exit(7);
        if (argc > 5 && !strcmp(argv[3], "B"))
            wait_for_end_of(alive);
        pmix_proc_t procs[2];
        PMIX_LOAD_PROCID(&procs[0], me.proc.nspace, PMIX_RANK_WILDCARD);
        PMIX_LOAD_PROCID(&procs[1], other, PMIX_RANK_WILDCARD);
        me.doing = "PMIx_Connect";
        pmix_status_t rc = PMIx_Connect(procs, 2, NULL, 0);
        if (rc == PMIX_SUCCESS)
            fail("connected with a process that has ended");
        say("connect %s.%u: %s", argv[3], me.rank, PMIx_Error_string(rc));
        say("ok %d", (int)me.rank);
        _exit(0);
    } else if (!strcmp(what, "absent") && argc > 4) {
        char mine[64], theirs[64];
        snprintf(mine, sizeof(mine), "%s.%s", argv[2], argv[3]);
        snprintf(theirs, sizeof(theirs), "%s.%s", argv[2], argv[4]);
        if (!strcmp(argv[3], "A")) {
            if (me.rank == me.size - 1 && argc > 5)
                pass();
            if (me.rank == me.size - 1)
                _exit(7);
            if (me.rank == 0) {
                publish_own(mine, PMIX_PERSIST_SESSION);
                find_other(theirs);
            }
            pass();
        }
        find_other(theirs);
        pmix_proc_t procs[2];
        PMIX_LOAD_PROCID(&procs[0], me.proc.nspace, PMIX_RANK_WILDCARD);
        PMIX_LOAD_PROCID(&procs[1], other, other_size - 1);
        me.doing = "PMIx_Connect";
        pmix_status_t rc = PMIx_Connect(procs, 2, NULL, 0);
        if (rc == PMIX_SUCCESS)
            fail("connected with a process that has ended");
        fence();
        if (me.rank == 0)
            publish_own(mine, PMIX_PERSIST_SESSION);
    } else {
        fail("what is '%s'?", what);
    }
    pass();
}
