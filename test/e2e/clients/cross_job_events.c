/* Events between jobs: the steps of an allocation, or a job and the one that it spawned.
 * usage: cross_job_events talk       each rank notifies over the ranges that leave its job, and over those
 *                                 that do not; it hears all of the other job's, once and in order
 *        cross_job_events listen     it only listens, and says so by a file "listening" in $CLIENT_DIR
 *        cross_job_events tell       it waits for that file, notifies, and ends
 *        cross_job_events tell early, listen late   the same without the file: libpmix 4.2.2 hands what it
 *                                 has kept to a late registrant in no order, so that is not looked at
 *        cross_job_events die NAME   as one of two jobs: they connect, then the last rank of the one that is
 *                                 called B is killed; every rank of the other one hears of it
 *        cross_job_events spawn      spawns two ranks of "talk", and is the other job
 *        cross_job_events child WHAT CODE   spawns a shell that exits with CODE (128 and more: by a signal);
 *                                 all ranks hear what was asked for: WHAT is end or all */
#include <pthread.h>

#include "client.h"

enum { EVENT = 7101, LAST = 7102, HELLO = 7103, MAX_RANKS = 64, ROUNDS = 25, KINDS = 5 };
static const struct {
    pmix_data_range_t range;
    bool leaves; /* comes to every rank of the other job */
} kinds[KINDS] = {{PMIX_RANGE_SESSION, true},
                  {PMIX_RANGE_GLOBAL, true},
                  {PMIX_RANGE_CUSTOM, true},  /* the other job by its wildcard */
                  {PMIX_RANGE_CUSTOM, false}, /* its rank 0 */
                  {PMIX_RANGE_NAMESPACE, false}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    char nspace[PMIX_MAX_NSLEN + 1];
    uint32_t size, over;
    struct {
        unsigned count[KINDS];
        uint64_t last;
    } from[MAX_RANKS];
} other;
static char wrong[1024];
static bool ordered = true;
static pmix_proc_t died = {.rank = PMIX_RANK_INVALID};
static unsigned deaths;

static const pmix_info_t *find(const pmix_info_t *info, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&info[i], key))
            return &info[i];
    return NULL;
}

static void take(pmix_status_t status, const pmix_proc_t *source, const pmix_info_t *info, size_t ninfo) {
    const pmix_info_t *kind = find(info, ninfo, "test.kind"), *number = find(info, ninfo, "test.number"),
                      *size = find(info, ninfo, "test.size");
    if (!strcmp(source->nspace, me.proc.nspace))
        return;
    if (!other.nspace[0]) {
        snprintf(other.nspace, sizeof other.nspace, "%s", source->nspace);
        other.size = size ? size->value.data.uint32 : 0;
    }
    if (!kind || !number || !size || strcmp(source->nspace, other.nspace) || source->rank >= MAX_RANKS) {
        snprintf(wrong, sizeof wrong, "event %d of %s:%u", status, source->nspace, source->rank);
        return;
    }
    /* The first may have been kept by the library until it was registered for. */
    if (ordered && status != HELLO && number->value.data.uint64 <= other.from[source->rank].last)
        snprintf(wrong, sizeof wrong, "event %lu of rank %u came after %lu", (unsigned long)number->value.data.uint64,
                 source->rank, (unsigned long)other.from[source->rank].last);
    other.from[source->rank].last = number->value.data.uint64;
    if (status == LAST)
        other.over++;
    else if (status == EVENT)
        other.from[source->rank].count[kind->value.data.uint32 % KINDS]++;
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    take(status, source, info, ninfo);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void on_death(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)results, (void)nresults, (void)source, (void)status;
    const pmix_info_t *affected = find(info, ninfo, PMIX_EVENT_AFFECTED_PROC);
    pthread_mutex_lock(&lock);
    if (affected && affected->value.type == PMIX_PROC)
        died = *affected->value.data.proc;
    deaths++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static struct {
    pmix_status_t code, status;
    int exit_code;
    char nspace[PMIX_MAX_NSLEN + 1];
} heard[8];
static unsigned heard_count;

static void on_job(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)results, (void)nresults, (void)source;
    const pmix_info_t *nspace = find(info, ninfo, PMIX_NSPACE), *term = find(info, ninfo, PMIX_JOB_TERM_STATUS),
                      *code = find(info, ninfo, PMIX_EXIT_CODE), *time = find(info, ninfo, PMIX_EVENT_TIMESTAMP),
                      *job = find(info, ninfo, PMIX_EVENT_AFFECTED_PROC);
    pthread_mutex_lock(&lock);
    if (heard_count == 8 || !nspace || nspace->value.type != PMIX_STRING || !time || !job ||
        job->value.type != PMIX_PROC || strcmp(job->value.data.proc->nspace, nspace->value.data.string)) {
        snprintf(wrong, sizeof wrong, "event %d without its job", status);
    } else {
        heard[heard_count].code = status;
        heard[heard_count].status = term ? term->value.data.status : 1;
        heard[heard_count].exit_code = code ? code->value.data.integer : -1;
        snprintf(heard[heard_count].nspace, PMIX_MAX_NSLEN, "%s", nspace->value.data.string);
        heard_count++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void register_for(pmix_status_t *codes, size_t n, pmix_notification_fn_t handler) {
    me.doing = "PMIx_Register_event_handler";
    pmix_status_t rc = PMIx_Register_event_handler(codes, n, NULL, 0, handler, NULL, NULL);
    if (rc < 0)
        fail("PMIx_Register_event_handler: %s", PMIx_Error_string(rc));
}

static void wait_until(bool (*done)(void), const char *what) {
    me.doing = what;
    pthread_mutex_lock(&lock);
    while (!wrong[0] && !done())
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (wrong[0])
        fail("%s", wrong);
}
static bool met(void) {
    return other.nspace[0];
}
static bool all_over(void) {
    bool all = met() && other.over == other.size;
    for (uint32_t p = 0; all && !ordered && p < other.size; p++) /* the last may come first */
        all = other.from[p].count[0] >= ROUNDS && other.from[p].count[1] >= ROUNDS;
    return all;
}
static bool one_dead(void) {
    return deaths > 0;
}

static void notify(pmix_status_t code, uint32_t kind, pmix_data_range_t range, const pmix_proc_t *to) {
    static uint64_t sent;
    pmix_info_t info[5];
    size_t n = 0;
    uint64_t number = ++sent;
    bool yes = true;
    PMIX_INFO_LOAD(&info[n], "test.kind", &kind, PMIX_UINT32);
    n++;
    PMIX_INFO_LOAD(&info[n], "test.number", &number, PMIX_UINT64);
    n++;
    PMIX_INFO_LOAD(&info[n], "test.size", &me.size, PMIX_UINT32);
    n++;
    PMIX_INFO_LOAD(&info[n], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    n++;
    if (to) {
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_CUSTOM_RANGE, to, PMIX_PROC);
        n++;
    }
    me.doing = "PMIx_Notify_event";
    pmix_status_t rc = PMIx_Notify_event(code, &me.proc, range, info, n, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("PMIx_Notify_event: %s", PMIx_Error_string(rc));
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
}

static void listening(char *path, size_t size) {
    snprintf(path, size, "%s/listening", getenv("CLIENT_DIR") ? getenv("CLIENT_DIR") : ".");
}

static void talk(bool tells, bool listens, bool file) {
    pmix_status_t codes[] = {EVENT, LAST, HELLO};
    char path[4096];
    listening(path, sizeof path);
    register_for(codes, 3, on_event);
    fence();
    if (file && listens && me.rank == 0)
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    me.doing = "waiting for the file of the listeners";
    while (file && !listens && access(path, F_OK) != 0)
        usleep(10 * 1000);
    if (tells)
        notify(HELLO, 0, PMIX_RANGE_SESSION, NULL);
    if (listens)
        wait_until(met, "the first event of the other job");
    for (unsigned round = 0; tells && round < ROUNDS; round++)
        for (uint32_t k = 0; k < KINDS; k++) {
            pmix_proc_t to;
            PMIX_LOAD_PROCID(&to, other.nspace, kinds[k].leaves ? PMIX_RANK_WILDCARD : 0);
            bool custom = kinds[k].range == PMIX_RANGE_CUSTOM;
            if (!custom || listens)
                notify(EVENT, k, kinds[k].range, custom ? &to : NULL);
        }
    if (tells)
        notify(LAST, 0, PMIX_RANGE_GLOBAL, NULL);
    if (!listens)
        return;
    wait_until(all_over, "the last event of each rank of the other job");
    for (uint32_t p = 0; p < other.size; p++)
        for (uint32_t k = 0; k < KINDS; k++) {
            bool comes = kinds[k].leaves || (kinds[k].range == PMIX_RANGE_CUSTOM && me.rank == 0);
            unsigned got = other.from[p].count[k], wanted = comes ? ROUNDS : 0;
            if (kinds[k].range == PMIX_RANGE_CUSTOM && !tells)
                wanted = 0;
            if (got != wanted)
                fail("%u events of kind %u came from rank %u, not %u", got, k, p, wanted);
        }
    fence();
}

static void die(const char *name) {
    bool mortal = !strcmp(name, "B");
    pmix_status_t codes[] = {EVENT, LAST, HELLO}, death = PMIX_ERR_PROC_ABORTED;
    register_for(codes, 3, on_event);
    register_for(&death, 1, on_death);
    notify(HELLO, 0, PMIX_RANGE_SESSION, NULL);
    wait_until(met, "the first event of the other job");
    pmix_proc_t both[2];
    PMIX_LOAD_PROCID(&both[0], me.proc.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&both[1], other.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Connect(both, 2, NULL, 0));
    if (mortal && me.rank == me.size - 1)
        kill(getpid(), SIGKILL);
    wait_until(one_dead, "the report of a process that has ended");
    const char *nspace = mortal ? me.proc.nspace : other.nspace;
    uint32_t last = (mortal ? me.size : other.size) - 1;
    if (strcmp(died.nspace, nspace) || died.rank != last || deaths != 1)
        fail("%u ends were reported, of %s:%u", deaths, died.nspace, died.rank);
}

static void spawn(void) {
    char self[4096], name[] = "cross_job_events", word[] = "talk", *argv[] = {name, word, NULL};
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    if (me.rank == 0) {
        pmix_app_t app;
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = self;
        app.argv = argv;
        app.maxprocs = 2;
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
        pmix_nspace_t nspace;
        must(PMIx_Spawn(&info, 1, &app, 1, nspace));
    }
    fence();
    talk(true, true, false);
}

static bool job_over(void) {
    return heard_count && heard[heard_count - 1].code == PMIX_EVENT_JOB_END;
}

static void spawn_shell(const char *script, const char *directive, pmix_nspace_t nspace) {
    char shell[] = "/bin/sh", flag[] = "-c", *argv[] = {shell, flag, strdup(script), NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = shell;
    app.argv = argv;
    app.maxprocs = 1;
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
    if (directive)
        PMIX_INFO_LOAD(&info[1], directive, &yes, PMIX_BOOL);
    if (directive)
        PMIX_INFO_REQUIRED(&info[1]);
    must(PMIx_Spawn(info, directive ? 2 : 1, &app, 1, nspace));
}

static void child(const char *what, int code) {
    bool all = !strcmp(what, "all");
    pmix_status_t codes[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END};
    register_for(codes, 3, on_job);
    fence();
    pmix_nspace_t nspace = "";
    if (me.rank == 0) {
        char script[64];
        /* Nobody asked for this one. */
        spawn_shell("exit 0", NULL, nspace);
        snprintf(script, sizeof script, code >= 128 ? "kill -%d $$" : "exit %d", code % 128);
        spawn_shell(script, all ? PMIX_NOTIFY_JOB_EVENTS : PMIX_NOTIFY_COMPLETION, nspace);
    }
    wait_until(job_over, "the end of the child");
    if (me.rank == 0 && strcmp(heard[heard_count - 1].nspace, nspace))
        fail("the end of %s, not of %s", heard[heard_count - 1].nspace, nspace);
    if (heard_count != (all ? 3 : 1) || (all && (heard[0].code != codes[0] || heard[1].code != codes[1])))
        fail("%u events, the first is %s", heard_count, PMIx_Error_string(heard[0].code));
    pmix_status_t wanted = code >= 128 ? PMIX_ERR_JOB_ABORTED_BY_SIG : code ? PMIX_ERR_JOB_NON_ZERO_TERM : PMIX_SUCCESS;
    if (heard[heard_count - 1].status != wanted || heard[heard_count - 1].exit_code != code)
        fail("status %s, exit code %d", PMIx_Error_string(heard[heard_count - 1].status),
             heard[heard_count - 1].exit_code);
    fence();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "talk";
    begin(140);
    if (me.size > MAX_RANKS)
        fail("at most %d ranks", MAX_RANKS);
    if (!strcmp(what, "talk"))
        talk(true, true, false);
    else if (!strcmp(what, "tell"))
        talk(true, false, argc == 2);
    else if (!strcmp(what, "listen")) {
        ordered = argc == 2;
        talk(false, true, argc == 2);
    } else if (!strcmp(what, "die"))
        die(argc > 2 ? argv[2] : "A");
    else if (!strcmp(what, "spawn"))
        spawn();
    else if (!strcmp(what, "child") && argc > 3)
        child(argv[2], atoi(argv[3]));
    else
        fail("usage: there is no '%s'", what);
    /* What came twice or late would have come by now, but for what is on its way. */
    if (wrong[0])
        fail("%s", wrong);
    pass();
}
