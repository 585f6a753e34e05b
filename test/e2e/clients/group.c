/* PMIx_Group_construct and PMIx_Group_destruct.
 *
 *   group all            all ranks, with a context id: everybody gets the same one, no group gets one
 *                        that another has had; what was posted is there; fences by the group's name
 *   group parts          the even and the odd ranks at once, beside a fence over the same processes
 *   group local          the ranks of each host for themselves
 *   group lonely SECONDS the last rank does not come: the others hear of a timeout
 *   group timed          all come well in time; nothing happens when the time is up
 *   group wildcard       all ranks by the wildcard, without a context id: what was posted is there
 *   group refused        a required directive that does not exist: refused on all hosts
 *   group die HOW WHEN [FLAG]
 *        the last rank ends (kill, segv, exit) before it would join, or, `inside`, while the others
 *        already wait; or all but one wait and the one is killed after it has joined (`after`).
 *        FLAG plain: an error for all; optional, ft, notify: the others build the group without it
 *   group pair KEY ME OTHER ROUNDS
 *        two jobs, which find each other by what they publish, build a group of all their ranks
 *   group lost HOST FLAG the ranks on HOST never join; all others are in the construct, say "there" and
 *                        hear of its end when that host is lost: FLAG as above, or first (optional, but
 *                        that host is the group's first, without which there is no group)
 *   group called         the group of the even ranks by its name in PMIx_Job_control (a signal) and one member
 *                        of it in PMIx_Abort
 *   group shrink         a member ends after the group was built with PMIX_GROUP_NOTIFY_TERMINATION: the
 *                        others hear of it, and can destruct the group without it
 */
#include <pthread.h>
#include <stdatomic.h>

#include "client.h"

/* The macro takes its arguments more than once. */
static void add(pmix_proc_t *procs, size_t *n, const char *nspace, uint32_t rank) {
    PMIX_LOAD_PROCID(&procs[*n], nspace, rank);
    ++*n;
}

static pmix_proc_t *list_of(uint32_t first, uint32_t step, size_t *n) {
    pmix_proc_t *procs = calloc(me.size + 1, sizeof(*procs));
    *n = 0;
    for (uint32_t r = me.size; r-- > 0;) /* in no sensible order */
        if (r % step == first)
            add(procs, n, me.proc.nspace, r);
    return procs;
}

enum { CONTEXT = 1, OPTIONAL = 2, TOLERANT = 4, NOTIFY = 8, LOCAL = 16, UNKNOWN = 32 };

static size_t id_in(const pmix_info_t *results, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID))
            return results[i].value.data.size;
    return SIZE_MAX;
}

struct built {
    struct answer answer;
    size_t id;
};

static void on_built(pmix_status_t status, pmix_info_t *info, size_t n, void *data, pmix_release_cbfunc_t release,
                     void *release_data) {
    struct built *built = data;
    built->id = id_in(info, n);
    if (release)
        release(release_data);
    answer_op(status, &built->answer);
}

static int entering = -1; /* a mark that others wait for: let go once the construct has been called */

static pmix_status_t construct(const char *name, const pmix_proc_t *procs, size_t n, int flags, int timeout,
                               size_t *id) {
    pmix_info_t info[8], *results = NULL;
    size_t count = 0, nresults = 0;
    const char *keys[] = {PMIX_GROUP_ASSIGN_CONTEXT_ID,  PMIX_GROUP_OPTIONAL,   PMIX_GROUP_FT_COLLECTIVE,
                          PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_LOCAL_ONLY, "test.no.such.directive"};
    for (int i = 0; i < 6; i++)
        if (flags & 1 << i) {
            PMIX_INFO_LOAD(&info[count], keys[i], NULL, PMIX_BOOL);
            count++;
        }
    if (flags & UNKNOWN)
        PMIX_INFO_REQUIRED(&info[count - 1]);
    if (timeout) {
        PMIX_INFO_LOAD(&info[count], PMIX_TIMEOUT, &timeout, PMIX_INT);
        count++;
    }
    me.doing = "PMIx_Group_construct";
    size_t got = SIZE_MAX;
    pmix_status_t rc;
    if (entering >= 0) {
        struct built built;
        answer_init(&built.answer);
        rc = PMIx_Group_construct_nb(name, procs, n, count ? info : NULL, count, on_built, &built);
        close(entering);
        entering = -1;
        if (rc == PMIX_SUCCESS)
            rc = answer_wait(&built.answer, "PMIx_Group_construct_nb");
        got = built.id;
    } else {
        rc = PMIx_Group_construct(name, procs, n, count ? info : NULL, count, &results, &nresults);
        if (rc == PMIX_SUCCESS)
            got = id_in(results, nresults);
    }
    if (id)
        *id = got;
    return rc;
}

static void build(const char *name, const pmix_proc_t *procs, size_t n, int flags, size_t *id) {
    pmix_status_t rc = construct(name, procs, n, flags, 0, id);
    if (rc != PMIX_SUCCESS)
        fail("construct %s: %s", name, PMIx_Error_string(rc));
    if ((flags & CONTEXT) && id && (*id == SIZE_MAX || *id == 0))
        fail("construct %s: no context id", name);
}

static void destruct(const char *name) {
    me.doing = "PMIx_Group_destruct";
    must(PMIx_Group_destruct(name, NULL, 0));
}

/* Is it there already, so that nobody has to be asked? */
static void card_is_there(const char *nspace, uint32_t rank, bool at_once) {
    char wanted[PMIX_MAX_NSLEN + 32];
    pmix_info_t now_or_never;
    pmix_proc_t p;
    pmix_value_t *v;
    PMIX_INFO_LOAD(&now_or_never, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    PMIX_LOAD_PROCID(&p, nspace, rank);
    me.doing = "PMIx_Get card";
    pmix_status_t rc = PMIx_Get(&p, "card", at_once ? &now_or_never : NULL, at_once ? 1 : 0, &v);
    if (rc != PMIX_SUCCESS)
        fail("the card of %s.%u: %s", nspace, rank, PMIx_Error_string(rc));
    snprintf(wanted, sizeof(wanted), "%s %u", nspace, rank);
    if (v->type != PMIX_STRING || strcmp(v->data.string, wanted) != 0)
        fail("the card of %s.%u says something else", nspace, rank);
    PMIX_VALUE_RELEASE(v);
}

static void put_card(void) {
    char text[PMIX_MAX_NSLEN + 32];
    snprintf(text, sizeof(text), "%s %u", me.proc.nspace, me.rank);
    pmix_value_t card = {.type = PMIX_STRING, .data.string = text};
    must(PMIx_Put(PMIX_GLOBAL, "card", &card));
    must(PMIx_Commit());
}

static void fence_by_name(const char *name) {
    pmix_proc_t p;
    PMIX_LOAD_PROCID(&p, name, PMIX_RANK_WILDCARD);
    must(fence_with(&p, 1, 0, 0));
    pmix_proc_t two[2];
    PMIX_LOAD_PROCID(&two[0], name, 0);
    PMIX_LOAD_PROCID(&two[1], name, 1);
    if (me.rank < 2 && me.size > 1)
        must(fence_with(two, 2, 0, 0));
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
            card_is_there(me.proc.nspace, r, true);
        fence_by_name(name);
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
            fail("the fence beside it: %s", PMIx_Error_string(fenced.status));
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
        add(procs, &n, me.proc.nspace, (uint32_t)atoi(word));
    build(name, procs, n, 0, &id);
    destruct(name);
    build(name, procs, n, LOCAL, &id);
    destruct(name);
    build(name, procs, n, CONTEXT, &id);
    destruct(name);
    fence();
}

/* --- what the host tells the members -------------------------------------------------------------*/

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    int updates, failures, deaths;
    size_t members;
    pmix_proc_t failed;
    char group[PMIX_MAX_NSLEN + 1];
} told;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t n,
                     pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t next, void *data) {
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ID))
            snprintf(told.group, sizeof(told.group), "%s", info[i].value.data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            told.failed = *info[i].value.data.proc;
        else if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_MEMBERSHIP))
            told.members = info[i].value.data.darray->size;
    }
    if (status == PMIX_ERR_PROC_ABORTED)
        told.deaths++;
    else if (status == PMIX_GROUP_MEMBER_FAILED)
        told.failures++;
    else
        told.updates++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    next(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void on_registered(pmix_status_t status, size_t id, void *data) {
    (void)id;
    answer_op(status, data);
}

static void listen_for_members(void) {
    pmix_status_t codes[] = {PMIX_GROUP_MEMBERSHIP_UPDATE, PMIX_GROUP_MEMBER_FAILED, PMIX_ERR_PROC_ABORTED};
    struct answer registered;
    answer_init(&registered);
    PMIx_Register_event_handler(codes, 3, NULL, 0, on_event, on_registered, &registered);
    if (answer_wait(&registered, "PMIx_Register_event_handler") != PMIX_SUCCESS)
        fail("PMIx_Register_event_handler: %s", PMIx_Error_string(registered.status));
}

static void wait_until_told(int *what, const char *name) {
    me.doing = name;
    pthread_mutex_lock(&lock);
    while (*what == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* --- ends ----------------------------------------------------------------------------------------*/

static void end_by(const char *how) {
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "segv")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    _exit(3);
}

static int flags_of(const char *flag) {
    return !strcmp(flag, "plain")      ? CONTEXT
           : !strcmp(flag, "optional") ? OPTIONAL | CONTEXT
           : !strcmp(flag, "first")    ? OPTIONAL | CONTEXT
           : !strcmp(flag, "ft")       ? TOLERANT | CONTEXT
                                       : NOTIFY | CONTEXT;
}

static void die(const char *how, const char *when, const char *flag) {
    need(3);
    size_t n, id;
    uint32_t victim = me.size - 1;
    pmix_proc_t *procs = list_of(0, 1, &n);
    bool plain = !strcmp(flag, "plain");
    int flags = flags_of(flag);
    listen_for_members();
    if (me.rank == victim)
        show_life();
    if (me.rank != victim && strcmp(when, "after"))
        entering = mark("entering", me.rank);
    fence();
    if (me.rank == victim) {
        struct built built;
        pmix_info_t info;
        answer_init(&built.answer);
        PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
        for (uint32_t r = 0; r < victim && !strcmp(when, "inside"); r++)
            wait_for_mark("entering", r);
        if (!strcmp(when, "after"))
            must(PMIx_Group_construct_nb("test-die", procs, n, &info, 1, on_built, &built));
        end_by(how);
    }
    if (!strcmp(when, "before"))
        wait_for_death();
    if (!strcmp(when, "after")) /* its server knows it, too, and says so where the group meets */
        wait_until_told(&told.deaths, "PMIX_ERR_PROC_ABORTED");
    pmix_status_t rc = construct("test-die", procs, n, flags, 0, &id);
    if (plain && (rc == PMIX_SUCCESS || rc == PMIX_ERR_PARTIAL_SUCCESS))
        fail("%s", PMIx_Error_string(rc));
    if (!plain) {
        if (rc != PMIX_ERR_PARTIAL_SUCCESS)
            fail("%s", PMIx_Error_string(rc));
        wait_until_told(&told.updates, "PMIX_GROUP_MEMBERSHIP_UPDATE");
        if (told.members != me.size - 1 || strcmp(told.group, "test-die"))
            fail("told of %zu members of %s", told.members, told.group);
        destruct("test-die");
    }
    say("construct %s: %s", flag, PMIx_Error_string(rc));
    say("ok %d", (int)me.rank);
    _exit(0);
}

static void lost(const char *host, const char *flag) {
    size_t n, left = 0;
    pmix_proc_t *procs = list_of(0, 1, &n), *rest = calloc(me.size, sizeof(*rest));
    pmix_value_t *v = NULL;
    listen_for_members();
    fence();
    bool here = false;
    for (uint32_t r = 0; r < me.size; r++) {
        if (!get(r, PMIX_HOSTNAME, &v))
            fail("no PMIX_HOSTNAME of %u", r);
        bool doomed = !strcmp(v->data.string, host);
        PMIX_VALUE_RELEASE(v);
        if (!doomed)
            add(rest, &left, me.proc.nspace, r);
        here = here || (doomed && r == me.rank);
    }
    if (here) {
        say("there %u", me.rank);
        for (;;)
            pause();
    }
    pmix_info_t info[2];
    size_t ninfo = 0;
    const char *keys[] = {PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_OPTIONAL, PMIX_GROUP_FT_COLLECTIVE,
                          PMIX_GROUP_NOTIFY_TERMINATION};
    for (int i = 0; i < 4; i++)
        if (flags_of(flag) & 1 << i) {
            PMIX_INFO_LOAD(&info[ninfo], keys[i], NULL, PMIX_BOOL);
            ninfo++;
        }
    struct built built;
    answer_init(&built.answer);
    pmix_status_t rc = PMIx_Group_construct_nb("test-lost", procs, n, info, ninfo, on_built, &built);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Group_construct_nb: %s", PMIx_Error_string(rc));
    say("there %u", me.rank);
    rc = answer_wait(&built.answer, "PMIx_Group_construct_nb");
    say("construct %s: %s", flag, PMIx_Error_string(rc));
    if (!strcmp(flag, "plain") || !strcmp(flag, "first")) {
        if (rc == PMIX_SUCCESS || rc == PMIX_ERR_PARTIAL_SUCCESS)
            fail("%s", PMIx_Error_string(rc));
    } else {
        if (rc != PMIX_ERR_PARTIAL_SUCCESS)
            fail("%s", PMIx_Error_string(rc));
        wait_until_told(&told.updates, "PMIX_GROUP_MEMBERSHIP_UPDATE");
        if (told.members != left || strcmp(told.group, "test-lost"))
            fail("told of %zu members of %s", told.members, told.group);
        destruct("test-lost");
    }
    must(fence_with(rest, left, 0, 60));
    say("ok %d", (int)me.rank);
    _exit(0); /* PMIx_Finalize is none of what is tested */
}

static volatile sig_atomic_t signals;
static void on_signal(int number) {
    (void)number;
    signals++;
}

static void called(void) {
    need(4);
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t block, before;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    size_t n, left = 0;
    pmix_proc_t *even = list_of(0, 2, &n), *rest = calloc(me.size, sizeof(*rest)), target;
    uint32_t victim = even[1].rank; /* group rank 1 */
    bool member = me.rank % 2 == 0;
    for (uint32_t r = 0; r < me.size; r++)
        if (r != victim)
            add(rest, &left, me.proc.nspace, r);
    if (me.rank == victim)
        show_life();
    if (member)
        build("test-called", even, n, CONTEXT, NULL);
    fence();
    if (me.rank == 0) {
        pmix_info_t info;
        int number = SIGUSR1;
        PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
        PMIX_LOAD_PROCID(&target, "test-called", PMIX_RANK_WILDCARD);
        me.doing = "PMIx_Job_control";
        pmix_status_t rc = PMIx_Job_control(&target, 1, &info, 1, NULL, NULL);
        if (rc != PMIX_SUCCESS)
            fail("PMIx_Job_control: %s", PMIx_Error_string(rc));
    }
    me.doing = "waiting for the signal";
    pthread_sigmask(SIG_BLOCK, &block, &before);
    while (member && signals == 0)
        sigsuspend(&before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    fence();
    if (signals != member)
        fail("%d signals came", (int)signals);
    if (me.rank == victim)
        for (;;)
            pause();
    if (me.rank == 0) {
        PMIX_LOAD_PROCID(&target, "test-called", 1);
        me.doing = "PMIx_Abort";
        pmix_status_t rc = PMIx_Abort(7, "only one", &target, 1);
        if (rc != PMIX_SUCCESS)
            fail("PMIx_Abort: %s", PMIx_Error_string(rc));
    }
    wait_for_death();
    must(fence_with(rest, left, 0, 60));
    say("ok %d", (int)me.rank);
    _exit(0); /* the group has a member that does not destruct it */
}

static void shrink(void) {
    need(3);
    size_t n, id;
    uint32_t victim = me.size - 1;
    pmix_proc_t *procs = list_of(0, 1, &n);
    listen_for_members();
    build("test-shrink", procs, n, NOTIFY | CONTEXT, &id);
    if (me.rank == victim)
        raise(SIGKILL);
    wait_until_told(&told.failures, "PMIX_GROUP_MEMBER_FAILED");
    if (told.failed.rank != victim || strcmp(told.group, "test-shrink"))
        fail("told of the end of %u in %s", told.failed.rank, told.group);
    destruct("test-shrink");
    say("ok %d", (int)me.rank);
    _exit(0);
}

/* --- two jobs ------------------------------------------------------------------------------------*/

static char other[PMIX_MAX_NSLEN + 1];
static uint32_t other_size;

static void meet(const char *key, const char *own, const char *its) {
    char mine[64], theirs[64], text[PMIX_MAX_NSLEN + 32];
    snprintf(mine, sizeof(mine), "%s.%s", key, own);
    snprintf(theirs, sizeof(theirs), "%s.%s", key, its);
    pmix_info_t info[2];
    int everything = 0, seconds = 40;
    if (me.rank == 0) {
        snprintf(text, sizeof(text), "%s %u", me.proc.nspace, me.size);
        PMIX_INFO_LOAD(&info[0], mine, text, PMIX_STRING);
        must(PMIx_Publish(info, 1));
    }
    pmix_pdata_t data;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &everything, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, theirs);
    must(PMIx_Lookup(&data, 1, info, 2));
    if (sscanf(data.value.data.string, "%255s %u", other, &other_size) != 2)
        fail("what is '%s'?", data.value.data.string);
}

static void pair(const char *key, const char *own, const char *its, int rounds) {
    size_t n, id, before = SIZE_MAX;
    char name[64];
    put_card();
    meet(key, own, its);
    pmix_proc_t *procs = list_of(0, 1, &n);
    procs = realloc(procs, (n + other_size) * sizeof(*procs));
    for (uint32_t r = 0; r < other_size; r++)
        add(procs, &n, other, r);
    for (int i = 0; i < rounds; i++) {
        snprintf(name, sizeof(name), "%s-group-%d", key, i);
        build(name, procs, n, CONTEXT, &id);
        if (id == before)
            fail("the context id %zu is given twice", id);
        before = id;
        pmix_value_t *v;
        pmix_proc_t p;
        PMIX_LOAD_PROCID(&p, other, PMIX_RANK_WILDCARD);
        must(PMIx_Get(&p, PMIX_JOB_SIZE, NULL, 0, &v));
        if (v->data.uint32 != other_size)
            fail("PMIX_JOB_SIZE of %s is %u, not %u", other, v->data.uint32, other_size);
        PMIX_VALUE_RELEASE(v);
        for (uint32_t r = 0; r < other_size; r++)
            card_is_there(other, r, false);
        for (uint32_t r = 0; r < me.size; r++)
            card_is_there(me.proc.nspace, r, false);
        PMIX_LOAD_PROCID(&p, name, PMIX_RANK_WILDCARD);
        must(fence_with(&p, 1, 0, 0));
        say("context %s %d: %zu", key, i, id);
        destruct(name);
    }
    fence();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    size_t n;
    begin(!strcmp(what, "lost") ? 280 : 90);
    if (!strcmp(what, "all")) {
        all();
    } else if (!strcmp(what, "parts")) {
        parts();
    } else if (!strcmp(what, "local")) {
        local();
    } else if (!strcmp(what, "lonely") && argc > 2) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        fence();
        if (me.rank < me.size - 1) {
            pmix_status_t rc = construct("test-lonely", procs, n, 0, atoi(argv[2]), NULL);
            if (rc != PMIX_ERR_TIMEOUT)
                fail("%s", PMIx_Error_string(rc));
        }
        fence();
    } else if (!strcmp(what, "timed")) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        fence(); /* the time begins with the first that comes */
        pmix_status_t rc = construct("test-timed", procs, n, 0, 10, NULL);
        if (rc != PMIX_SUCCESS)
            fail("%s", PMIx_Error_string(rc));
        struct timespec longer = {11, 0}; /* than the time: the server must live beyond it */
        nanosleep(&longer, NULL);
        fence();
        destruct("test-timed");
    } else if (!strcmp(what, "wildcard")) {
        pmix_proc_t everyone;
        PMIX_LOAD_PROCID(&everyone, me.proc.nspace, PMIX_RANK_WILDCARD);
        put_card();
        build("test-wildcard", &everyone, 1, 0, NULL);
        for (uint32_t r = 0; r < me.size; r++)
            card_is_there(me.proc.nspace, r, true);
        destruct("test-wildcard");
    } else if (!strcmp(what, "refused")) {
        pmix_proc_t *procs = list_of(0, 1, &n);
        pmix_status_t rc = construct("test-refused", procs, n, me.rank == 0 ? UNKNOWN : 0, 0, NULL);
        if (rc != PMIX_ERR_NOT_SUPPORTED)
            fail("%s", PMIx_Error_string(rc));
        fence();
    } else if (!strcmp(what, "die") && argc > 3) {
        die(argv[2], argv[3], argc > 4 ? argv[4] : "plain");
    } else if (!strcmp(what, "lost") && argc > 3) {
        lost(argv[2], argv[3]);
    } else if (!strcmp(what, "called")) {
        called();
    } else if (!strcmp(what, "shrink")) {
        shrink();
    } else if (!strcmp(what, "pair") && argc > 5) {
        pair(argv[2], argv[3], argv[4], atoi(argv[5]));
    } else {
        fail("what is '%s'?", what);
    }
    pass();
}
