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
 *                                 all ranks hear what was asked for: WHAT is end or all
 *        cross_job_events first MAPPING   spawns two processes, the second of which cannot begin until all ranks have
 *                                 heard that the job has */
#include "events.h"
#include "peers.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { EVENT = 7101, LAST = 7102, HELLO = 7103, MAX_RANKS = 64, ROUNDS = 25, KINDS = 5 };
static const struct {
    pmix_data_range_t range;
    bool leaves; /* comes to every rank of the other job */
} kinds[KINDS] = {{PMIX_RANGE_SESSION, true},
                  {PMIX_RANGE_GLOBAL, true},
                  {PMIX_RANGE_CUSTOM, true},  /* the other job by its wildcard */
                  {PMIX_RANGE_CUSTOM, false}, /* its rank 0 */
                  {PMIX_RANGE_NAMESPACE, false}};

static struct job other;
static unsigned met, over; /* whether it has been heard of, and how many of it have said LAST */
static struct {
    unsigned count[KINDS];
    uint64_t last;
} from[MAX_RANKS];
static bool ordered = true;
static pmix_proc_t died = {.rank = PMIX_RANK_INVALID};
static unsigned deaths;

static void take(const struct event *event) {
    const pmix_value_t *kind = carried(event, "test.kind", PMIX_UINT32),
                       *number = carried(event, "test.number", PMIX_UINT64),
                       *size = carried(event, "test.size", PMIX_UINT32);
    const pmix_proc_t *source = event->source;
    if (!strcmp(source->nspace, me.proc.nspace))
        return;
    if (!met) {
        snprintf(other.nspace, sizeof other.nspace, "%s", source->nspace);
        other.size = size ? size->data.uint32 : 0;
        met = 1;
    }
    if (!kind || !number || !size || strcmp(source->nspace, other.nspace) || source->rank >= MAX_RANKS) {
        note_wrong("event %d of %s:%u", event->code, source->nspace, source->rank);
        return;
    }
    /* The first may have been kept by the library until it was registered for. */
    if (ordered && event->code != HELLO && number->data.uint64 <= from[source->rank].last)
        note_wrong("event %lu of rank %u came after %lu", (unsigned long)number->data.uint64, source->rank,
                   (unsigned long)from[source->rank].last);
    from[source->rank].last = number->data.uint64;
    if (event->code == LAST)
        over++;
    else if (event->code == EVENT)
        from[source->rank].count[kind->data.uint32 % KINDS]++;
}
EVENT_HANDLER(on_event, take, PMIX_SUCCESS)

static void note_death(const struct event *event) {
    const pmix_value_t *affected = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    if (affected)
        died = *affected->data.proc;
    deaths++;
}
EVENT_HANDLER(on_death, note_death, PMIX_SUCCESS)

static struct {
    pmix_status_t code, status;
    int exit_code;
    char nspace[PMIX_MAX_NSLEN + 1];
} heard[8];
static unsigned heard_count;

static void note_job(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING),
                       *term = carried(event, PMIX_JOB_TERM_STATUS, PMIX_STATUS),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT),
                       *time = carried(event, PMIX_EVENT_TIMESTAMP, PMIX_TIME),
                       *job = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    if (heard_count == 8 || !nspace || !time || !job || strcmp(job->data.proc->nspace, nspace->data.string)) {
        note_wrong("event %d without its job", event->code);
        return;
    }
    heard[heard_count].code = event->code;
    heard[heard_count].status = term ? term->data.status : 1;
    heard[heard_count].exit_code = code ? code->data.integer : -1;
    snprintf(heard[heard_count].nspace, PMIX_MAX_NSLEN, "%s", nspace->data.string);
    heard_count++;
}
EVENT_HANDLER(on_job, note_job, PMIX_SUCCESS)

static bool all_over(void) {
    bool all = met && over == other.size;
    for (uint32_t p = 0; all && !ordered && p < other.size; p++) /* the last may come first */
        all = from[p].count[0] >= ROUNDS && from[p].count[1] >= ROUNDS;
    return all;
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
        fail("PMIx_Notify_event: %s", status_name(rc));
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
}

static void talk(bool tells, bool listens, bool file) {
    pmix_status_t codes[] = {EVENT, LAST, HELLO};
    register_for(codes, 3, on_event);
    fence();
    if (file && listens && me.rank == 0)
        tell_by_file("listening", 0);
    if (file && !listens)
        await_file(path_of("listening", 0));
    if (tells)
        notify(HELLO, 0, PMIX_RANGE_SESSION, NULL);
    if (listens)
        wait_for_count(&met, 1, "the first event of the other job");
    for (unsigned round = 0; tells && round < ROUNDS; round++)
        for (uint32_t k = 0; k < KINDS; k++) {
            pmix_proc_t to = process(other.nspace, kinds[k].leaves ? PMIX_RANK_WILDCARD : 0);
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
            unsigned got = from[p].count[k], wanted = comes ? ROUNDS : 0;
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
    wait_for_count(&met, 1, "the first event of the other job");
    connect_with(other.nspace);
    if (mortal && me.rank == me.size - 1)
        kill(getpid(), SIGKILL);
    wait_for_count(&deaths, 1, "the report of a process that has ended");
    const char *nspace = mortal ? me.proc.nspace : other.nspace;
    uint32_t last = (mortal ? me.size : other.size) - 1;
    if (strcmp(died.nspace, nspace) || died.rank != last || deaths != 1)
        fail("%u ends were reported, of %s:%u", deaths, died.nspace, died.rank);
}

static void spawn(void) {
    char word[] = "talk", *argv[] = {NULL, word, NULL};
    if (me.rank == 0) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
        pmix_nspace_t nspace;
        spawn_self(argv, 2, &info, 1, nspace);
    }
    fence();
    talk(true, true, false);
}

static bool job_over(void) {
    return heard_count && heard[heard_count - 1].code == PMIX_EVENT_JOB_END;
}

/* Directives are required ones; `also` without `directive` is none. */
static void spawn_shell(const char *script, const char *directive, const char *also, pmix_nspace_t nspace) {
    char shell[] = "/bin/sh", flag[] = "-c", *argv[] = {shell, flag, strdup(script), NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = shell;
    app.argv = argv;
    app.maxprocs = 1;
    pmix_info_t info[3];
    size_t count = 1;
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
    for (const char *key = directive; key; key = key == directive ? also : NULL) {
        PMIX_INFO_LOAD(&info[count], key, &yes, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&info[count]);
        count++;
    }
    must(PMIx_Spawn(info, count, &app, 1, nspace));
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
        spawn_shell("exit 0", NULL, NULL, nspace);
        /* Nor for the good end of this one. */
        spawn_shell("exit 0", PMIX_NOTIFY_COMPLETION, PMIX_EVENT_SILENT_TERMINATION, nspace);
        snprintf(script, sizeof script, code >= 128 ? "kill -%d $$" : "exit %d", code % 128);
        spawn_shell(script, all ? PMIX_NOTIFY_JOB_EVENTS : PMIX_NOTIFY_COMPLETION,
                    code ? PMIX_EVENT_SILENT_TERMINATION : NULL, nspace);
    }
    wait_until(job_over, "the end of the child");
    if (me.rank == 0 && strcmp(heard[heard_count - 1].nspace, nspace))
        fail("the end of %s, not of %s", heard[heard_count - 1].nspace, nspace);
    if (heard_count != (all ? 3 : 1) || (all && (heard[0].code != codes[0] || heard[1].code != codes[1])))
        fail("%u events, the first is %s", heard_count, status_name(heard[0].code));
    pmix_status_t wanted = code >= 128 ? PMIX_ERR_JOB_ABORTED_BY_SIG : code ? PMIX_ERR_JOB_NON_ZERO_TERM : PMIX_SUCCESS;
    if (heard[heard_count - 1].status != wanted || heard[heard_count - 1].exit_code != code)
        fail("status %s, exit code %d", status_name(heard[heard_count - 1].status), heard[heard_count - 1].exit_code);
    fence();
}

static pmix_status_t spawned;
static void on_spawned(pmix_status_t status, pmix_nspace_t nspace, void *cbdata) {
    (void)nspace;
    spawned = status;
    sem_post(cbdata);
}

/* The second process is to write to a pipe that nobody reads: it waits there before its program is executed. */
static void first(const char *mapping) {
    pmix_status_t codes[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END};
    char pattern[512], pipe_name[512], program[] = "/bin/true", *argv[] = {program, NULL};
    bool yes = true;
    sem_t answered;
    sem_init(&answered, 0, 0);
    snprintf(pattern, sizeof pattern, "%s/begins.%%r", getenv("CLIENT_DIR"));
    snprintf(pipe_name, sizeof pipe_name, "%s/begins.1.stdout", getenv("CLIENT_DIR"));
    register_for(codes, 3, on_job);
    fence();
    pmix_app_t app;
    pmix_info_t info[5];
    if (me.rank == 0) {
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = program;
        app.argv = argv;
        app.maxprocs = 2;
        PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, mapping, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_JOB_EVENTS, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[2], PMIX_IOF_OUTPUT_TO_FILE, pattern, PMIX_STRING);
        PMIX_INFO_LOAD(&info[3], PMIX_IOF_FILE_PATTERN, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[4], PMIX_IOF_FILE_ONLY, &yes, PMIX_BOOL);
        for (int i = 1; i < 5; i++)
            PMIX_INFO_REQUIRED(&info[i]);
        if (mkfifo(pipe_name, 0600) != 0)
            fail("mkfifo: %s", strerror(errno));
        must(PMIx_Spawn_nb(info, 5, &app, 1, on_spawned, &answered));
    }
    wait_for_count(&heard_count, 1, "the start of the child");
    if (heard_count != 1 || heard[0].code != codes[0])
        fail("%u events, the first is %s", heard_count, status_name(heard[0].code));
    fence();
    int reader = -1;
    if (me.rank == 0) {
        if (sem_trywait(&answered) == 0)
            fail("PMIx_Spawn has been answered with %s", status_name(spawned));
        if ((reader = open(pipe_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
            fail("open: %s", strerror(errno));
        await(&answered, "PMIx_Spawn_nb");
        if (spawned != PMIX_SUCCESS)
            fail("PMIx_Spawn: %s", status_name(spawned));
    }
    wait_until(job_over, "the end of the child");
    if (heard_count != 3 || heard[1].code != codes[1] || heard[2].status != PMIX_SUCCESS)
        fail("%u events, the second is %s, the status of the third %s", heard_count, status_name(heard[1].code),
             status_name(heard[2].status));
    close(reader);
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
    else if (!strcmp(what, "first") && argc > 2)
        first(argv[2]);
    else
        fail("usage: there is no '%s'", what);
    /* What came twice or late would have come by now, but for what is on its way. */
    fail_if_wrong();
    pass();
}
