/* A job that is spawned to stop for a debugger, and its spawner in the debugger's place.
 * usage: stops PLACE WHO COUNT [OPTION ...] [-- PROGRAM ARG ...]
 *   PLACE          init, app or exec
 *   WHO            all, none, a rank, ranks:R,R,..., procs:R,R,..., or text (which is no way to say it)
 *   status=NAME    PMIx_Spawn is refused with that status, and that is all
 *   leaves=R       that rank ends before it comes to the place
 *   kill=R         that rank is killed while it is stopped; the job's end is awaited, and that is all
 *   die            the spawner is killed while they are stopped
 *   show           "stopped" is made in $CLIENT_DIR, with the job's namespace, and "go" is awaited, before anybody is
 *                  released
 *   never          the program does not come to the place: nothing is told but the end of the job
 *   tool           the spawner is a tool of a running job
 *   continue       the release is PMIX_JOB_CTRL_RESUME
 *   again          the children stop once more, at a second place of their own; from the first one all are released at
 *                  once
 * One of those who are stopped is released first, then the others. Without a program the children are this one: each
 * makes a file past.RANK behind the place. A program must do so itself: the rank is in $PMIX_RANK. */
#include "events.h"

#include <pmix_tool.h>

enum { MAX = 64 };
static struct {
    const char *place, *key, *status;
    bool wanted[MAX], die, show, resume, tool, never, again;
    unsigned wanted_count, count;
    int leaves, kill;
} ask = {.leaves = -1, .kill = -1};

static struct {
    unsigned ready, ended, named;
    char nspace[PMIX_MAX_NSLEN + 1], breakpoint[64];
} heard;

static void note_ready(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING),
                       *breakpoint = carried(event, PMIX_BREAKPOINT, PMIX_STRING),
                       *named = carried(event, PMIX_DEBUG_TARGET, PMIX_DATA_ARRAY);
    heard.ready++;
    if (!nspace || !breakpoint || !named) {
        note_wrong("the event lacks something");
        return;
    }
    snprintf(heard.nspace, sizeof heard.nspace, "%s", nspace->data.string);
    snprintf(heard.breakpoint, sizeof heard.breakpoint, "%s", breakpoint->data.string);
    heard.named = (unsigned)named->data.darray->size;
    const pmix_proc_t *procs = named->data.darray->array;
    for (unsigned i = 0; i < heard.named; i++)
        if (procs[i].rank >= MAX || !ask.wanted[procs[i].rank])
            note_wrong("rank %u was not asked for", procs[i].rank);
}
EVENT_HANDLER(on_ready, note_ready, PMIX_SUCCESS)

static void note_end(const struct event *event) {
    (void)event;
    heard.ended++;
}
EVENT_HANDLER(on_end, note_end, PMIX_SUCCESS)

static bool released;
static void note_release(const struct event *event) {
    (void)event;
    released = true;
}
EVENT_HANDLER(on_release, note_release, PMIX_SUCCESS)
static bool is_released(void) {
    return released;
}

static const char *path_of(const char *name, unsigned rank) {
    static char path[4096];
    snprintf(path, sizeof path, rank < MAX ? "%s/%s.%u" : "%s/%s", getenv("CLIENT_DIR"), name, rank);
    return path;
}
static void make_file(const char *name, unsigned rank) {
    int fd = open(path_of(name, rank), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        fail("%s: %s", path_of(name, rank), strerror(errno));
    close(fd);
}
static void show_job(void) {
    int fd = open(path_of("shown", MAX), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, heard.nspace, strlen(heard.nspace)) < 0)
        fail("%s: %s", path_of("shown", MAX), strerror(errno));
    close(fd);
    char from[4096];
    snprintf(from, sizeof from, "%s", path_of("shown", MAX));
    if (rename(from, path_of("stopped", MAX)) != 0)
        fail("%s: %s", from, strerror(errno));
}
static bool is_past(unsigned rank) {
    return access(path_of("past", rank), F_OK) == 0;
}

/* --- the children ---------------------------------------------------------------------------------*/

static bool names_me(const pmix_value_t *value) {
    if (value->type == PMIX_PROC_RANK)
        return value->data.rank == PMIX_RANK_WILDCARD || value->data.rank == me.rank;
    if (value->type != PMIX_DATA_ARRAY || value->data.darray->type != PMIX_PROC)
        fail("PMIX_DEBUG_STOP_IN_APP is of type %d", value->type);
    const pmix_proc_t *procs = value->data.darray->array;
    for (size_t i = 0; i < value->data.darray->size; i++)
        if (procs[i].rank == me.rank)
            return true;
    return false;
}

static void stop_in_app(char *point) {
    pmix_value_t *value = NULL;
    pmix_status_t code = PMIX_DEBUGGER_RELEASE;
    static bool listens;
    if (!get(PMIX_RANK_WILDCARD, PMIX_DEBUG_STOP_IN_APP, &value))
        fail("no PMIX_DEBUG_STOP_IN_APP");
    if (!names_me(value))
        return;
    if (!listens)
        register_nb(&code, 1, on_release);
    listens = true;
    released = false;
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_BREAKPOINT, point, PMIX_STRING);
    pmix_status_t rc = PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &me.proc, PMIX_RANGE_RM, info, 2, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("PMIx_Notify_event: %s", status_name(rc));
    wait_until(is_released, "the release");
}

static void child(char **argv) {
    int leaves = atoi(argv[3]);
    unsigned rank = (unsigned)atoi(getenv("PMIX_RANK"));
    if ((int)rank == leaves)
        exit(0);
    begin(60);
    char first[] = "my-place", second[] = "my-other-place";
    if (!strcmp(argv[2], "app"))
        stop_in_app(first);
    if (argv[4])
        stop_in_app(second);
    make_file("past", me.rank);
    pass();
}

/* --- the spawner ----------------------------------------------------------------------------------*/

static void read_who(char *who, pmix_info_t *info) {
    static pmix_data_array_t array;
    static pmix_rank_t ranks[MAX];
    static pmix_proc_t procs[MAX];
    bool all = !strcmp(who, "all");
    if (all || !strcmp(who, "none")) {
        PMIX_INFO_LOAD(info, ask.key, &all, PMIX_BOOL);
        for (unsigned r = 0; all && r < ask.count; r++)
            ask.wanted[r] = true;
    } else if (!strcmp(who, "text")) {
        PMIX_INFO_LOAD(info, ask.key, who, PMIX_STRING);
    } else if (strchr(who, ':')) {
        size_t n = 0;
        array.type = who[0] == 'p' ? PMIX_PROC : PMIX_PROC_RANK;
        for (char *at = strtok(strchr(who, ':') + 1, ","); at && n < MAX; at = strtok(NULL, ",")) {
            ranks[n] = (pmix_rank_t)atoi(at);
            ask.wanted[ranks[n] % MAX] = true;
            PMIX_LOAD_PROCID(&procs[n], "", ranks[n]);
            n++;
        }
        array.size = n;
        array.array = array.type == PMIX_PROC ? (void *)procs : (void *)ranks;
        PMIX_INFO_LOAD(info, ask.key, &array, PMIX_DATA_ARRAY);
    } else {
        pmix_rank_t rank = (pmix_rank_t)atoi(who);
        ask.wanted[rank % MAX] = true;
        PMIX_INFO_LOAD(info, ask.key, &rank, PMIX_PROC_RANK);
    }
    for (unsigned r = 0; r < MAX; r++)
        ask.wanted_count += ask.wanted[r] && (int)r != ask.leaves;
}

static void control(const pmix_proc_t *target, const pmix_info_t *info) {
    pmix_info_t *results = NULL;
    size_t n = 0;
    must(PMIx_Job_control(target, 1, info, 1, &results, &n));
}

static void resume(pmix_proc_t *target) {
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_RESUME, &yes, PMIX_BOOL);
    control(target, &info);
}

static void release(uint32_t rank) {
    pmix_proc_t target = process(heard.nspace, rank);
    if (ask.resume) {
        resume(&target);
        return;
    }
    pmix_info_t info[2];
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 1, .array = &target};
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    pmix_status_t rc = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me.proc, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("PMIx_Notify_event: %s", status_name(rc));
}

static void await_past(unsigned rank) {
    me.doing = "for a process to go on";
    while (!is_past(rank))
        rest();
}

/* Nothing is to happen: as long as the rest of the test gives it the time to. */
static void still_stopped(void) {
    double until = now() + 1;
    while (now() < until)
        rest();
    for (unsigned r = 0; r < ask.count; r++)
        if (ask.wanted[r] && is_past(r))
            fail("rank %u has not stopped", r);
}

int main(int argc, char **argv) {
    if (argc > 3 && !strcmp(argv[1], "child"))
        child(argv);
    if (argc < 4)
        return 2;
    ask.place = argv[1];
    ask.key = !strcmp(ask.place, "init")  ? PMIX_DEBUG_STOP_IN_INIT
              : !strcmp(ask.place, "app") ? PMIX_DEBUG_STOP_IN_APP
                                          : PMIX_DEBUG_STOP_ON_EXEC;
    ask.count = (unsigned)atoi(argv[3]);
    char **program = NULL;
    for (int i = 4; i < argc && !program; i++) {
        if (!strcmp(argv[i], "--"))
            program = &argv[i + 1];
        else if (!strncmp(argv[i], "status=", 7))
            ask.status = argv[i] + 7;
        else if (!strncmp(argv[i], "leaves=", 7))
            ask.leaves = atoi(argv[i] + 7);
        else if (!strncmp(argv[i], "kill=", 5))
            ask.kill = atoi(argv[i] + 5);
        else if (!strcmp(argv[i], "die"))
            ask.die = true;
        else if (!strcmp(argv[i], "show"))
            ask.show = true;
        else if (!strcmp(argv[i], "tool"))
            ask.tool = true;
        else if (!strcmp(argv[i], "never"))
            ask.never = true;
        else if (!strcmp(argv[i], "again"))
            ask.again = true;
        else if (!strcmp(argv[i], "continue"))
            ask.resume = true;
    }
    if (ask.tool) {
        watch(50);
        must(PMIx_tool_init(&me.proc, NULL, 0));
        me.rank = 0; /* for the verdict */
    } else {
        begin(50);
    }
    pmix_status_t ready = PMIX_READY_FOR_DEBUG, end = PMIX_EVENT_JOB_END;
    register_nb(&ready, 1, on_ready);
    register_nb(&end, 1, on_end);

    pmix_info_t info[3];
    bool yes = true;
    char by_node[] = "node:oversubscribe", leaves[16], place[16], word[] = "child", again[] = "again";
    read_who(argv[2], &info[0]);
    PMIX_INFO_LOAD(&info[1], PMIX_MAPBY, by_node, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    snprintf(leaves, sizeof leaves, "%d", ask.leaves);
    snprintf(place, sizeof place, "%s", ask.place);
    char *own[] = {argv[0], word, place, leaves, ask.again ? again : NULL, NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.argv = program ? program : own;
    app.cmd = app.argv[0];
    app.maxprocs = (int)ask.count;
    pmix_nspace_t nspace = "";
    me.doing = "PMIx_Spawn";
    pmix_status_t rc = PMIx_Spawn(info, 3, &app, 1, nspace);
    if (ask.status) {
        say("refused %s", status_name(rc));
        if (strcmp(ask.status, status_name(rc)))
            fail("PMIx_Spawn: %s", status_name(rc));
        pass();
    }
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Spawn: %s", status_name(rc));

    if (ask.never) {
        wait_for_count(&heard.ended, 1, "the end of the job");
        if (heard.ready)
            fail("somebody stood");
        pass();
    }
    if (ask.again) {
        wait_for_count(&heard.ready, 1, "PMIX_READY_FOR_DEBUG");
        still_stopped();
        say("ready %u of %u at %s", heard.named, ask.count, heard.breakpoint);
        release(PMIX_RANK_WILDCARD);
        wait_for_count(&heard.ready, 2, "the second PMIX_READY_FOR_DEBUG");
        heard.ready--;
    }
    if (ask.wanted_count) {
        wait_for_count(&heard.ready, 1, "PMIX_READY_FOR_DEBUG");
        if (strcmp(heard.nspace, nspace))
            fail("the event is of %s", heard.nspace);
        still_stopped();
        fail_if_wrong();
        if (heard.ready != 1 || heard.named != ask.wanted_count)
            fail("%u events, of %u processes", heard.ready, heard.named);
        say("ready %u of %u at %s", heard.named, ask.count, heard.breakpoint);
    }
    if (ask.show) {
        show_job();
        await_file(path_of("go", MAX));
    }
    if (ask.die) {
        make_file("ready", MAX); /* srun may lose what a task that is killed has said */
        end_by("kill");
    }
    if (ask.kill >= 0) {
        pmix_proc_t target = process(nspace, (uint32_t)ask.kill);
        pmix_info_t how;
        int number = SIGKILL;
        PMIX_INFO_LOAD(&how, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
        control(&target, &how);
        say("killed %d", ask.kill);
    }
    unsigned first = MAX;
    for (unsigned r = 0; r < ask.count; r++) {
        if (!ask.wanted[r] && (int)r != ask.leaves)
            await_past(r); /* nobody releases it */
        else if (ask.wanted[r] && (int)r != ask.leaves && (int)r != ask.kill && first == MAX)
            first = r;
    }
    if (first < MAX && ask.kill < 0) {
        release(first);
        await_past(first);
        ask.wanted[first] = false;
        still_stopped();
        release(PMIX_RANK_WILDCARD);
        for (unsigned r = 0; r < ask.count; r++)
            if ((int)r != ask.leaves)
                await_past(r);
    } else if (first < MAX) {
        release(PMIX_RANK_WILDCARD);
    }
    wait_for_count(&heard.ended, 1, "the end of the job");
    if (heard.ready > 1)
        fail("%u events", heard.ready);
    if (!ask.tool)
        pass();
    must(PMIx_tool_finalize());
    say("ok 0");
    return 0;
}
