/* A debugger as the standard has it: starts a job that stops, or attaches to one, starts its daemons beside it, which
 * look at the processes of their host and let them go, and hears of the ends.
 * usage: debugger [WORD ...]
 *        stop=exec|init|both|no   of the job [init]; both: first at exec
 *        np=N program=PATH   its processes [4] and program [this one, "child"]
 *        target=NS           no job is started: this one is debugged
 *        rank=N              of it [all]
 *        node=N | proc=N     daemons on each host, or for each process; ppr: one on each host by PMIX_MAPBY
 *        daemon=PATH         their program [this one, "daemon"]
 *        cospawn             they are started with the job, in one request
 *        status=NAME         what the start of the daemons shall end with [PMIX_SUCCESS]
 *        tells=all|bad       of the job's processes: their ends are told, "gone RANK:CODE ..."
 *        logs=all|bad        and are lines for the user
 *        life                the job's start, that all of it runs, and its end are told: "life start launch end",
 *                            with "?" before one of which something is missing
 *        nohup               the job goes on without it (PMIX_NOHUP); where none is started the daemons do
 *        lets                lets the job go as soon as it has stopped
 *        die                 kills itself then
 *        stays               makes $CLIENT_DIR/stays then, or when the daemons run beside a target, and kills itself
 *                            when $CLIENT_DIR/leave is there
 *        pause               the target is paused before its daemons start, by PMIx_Job_control
 *        resume              and it goes on by PMIX_JOB_CTRL_RESUME; else by PMIX_DEBUGGER_RELEASE, as any other
 *        dies                kills itself when the daemons run; dies=behind: when they have ended
 *        after               lets the job go when the daemons have ended
 * Prints "job NS", "stops at PLACE", "table N processes on H hosts", "daemons NS", "end job|daemons CODE", and behind
 * the end of a job that failed "first RANK" where it is told; of daemons that were started with the job, which no
 * answer names, "daemons NS" by PMIX_QUERY_NAMESPACES. A process of the job that is this program writes
 * "RANK LOCAL-RANK NODE-RANK" to $CLIENT_DIR/places. A daemon
 * writes "RANK LOCAL-RANK HOST debugs NS: RANKS" to $CLIENT_DIR/daemons and "ended CODE" to $CLIENT_DIR/ended, and
 * for each process "RANK STATE", as the kernel has it, to $CLIENT_DIR/states. Where there is $CLIENT_DIR/wait it lets
 * go when that is gone. */
#include "events.h"

#include <pmix_tool.h>

enum { MAX_HOSTS = 16 };

static struct {
    const char *stop, *target, *program, *daemon, *status, *tells, *logs;
    char *self;
    int np, rank, node, proc, ppr, cospawn, life, nohup, lets, die, dies, behind, pause, resume, after, stays;
} ask = {.stop = "init", .status = "PMIX_SUCCESS", .np = 4, .rank = -1};

static struct {
    unsigned ready, job, daemons;
    char place[64];
    pmix_nspace_t of_job, of_daemons;
    int job_code, daemons_code;
    struct {
        pmix_nspace_t nspace;
        int code, first; /* a rank; -1: nobody is named */
    } ends[512];         /* with those of earlier jobs, which libpmix keeps for who comes later */
    unsigned ended;
} heard;

/* --- events: those of other jobs are noted, too, since a job's name may come later than its end ----------------*/

static void note_ready(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING),
                       *place = carried(event, PMIX_BREAKPOINT, PMIX_STRING);
    if (!nspace || !place)
        return note_wrong("PMIX_READY_FOR_DEBUG lacks something");
    if (heard.of_job[0] && strcmp(nspace->data.string, heard.of_job))
        return; /* one of before */
    snprintf(heard.place, sizeof heard.place, "%s", place->data.string);
    PMIX_LOAD_NSPACE(heard.of_job, nspace->data.string);
    heard.ready++;
}
EVENT_HANDLER(on_ready, note_ready, PMIX_SUCCESS)

static void note_end(const struct event *event) {
    const pmix_value_t *of = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT),
                       *first = carried(event, PMIX_PROCID, PMIX_PROC);
    if (!of || heard.ended >= sizeof heard.ends / sizeof *heard.ends)
        return note_wrong("PMIX_EVENT_JOB_END lacks something");
    PMIX_LOAD_NSPACE(heard.ends[heard.ended].nspace, of->data.proc->nspace);
    if (first && strcmp(first->data.proc->nspace, of->data.proc->nspace))
        return note_wrong("PMIX_EVENT_JOB_END names a process of another job");
    heard.ends[heard.ended].first = first ? (int)first->data.proc->rank : -1;
    heard.ends[heard.ended++].code = code ? code->data.integer : -1;
}
EVENT_HANDLER(on_end, note_end, PMIX_SUCCESS)

static struct {
    pmix_nspace_t nspace;
    const char *what;
} lives[64];
static unsigned lived;

static void note_life(const struct event *event) {
    const pmix_value_t *of = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    bool whole = of && carried(event, PMIX_EVENT_TIMESTAMP, PMIX_TIME) &&
                 !strcmp(event->source->nspace, of->data.proc->nspace) &&
                 (event->code != PMIX_EVENT_JOB_END || carried(event, PMIX_JOB_TERM_STATUS, PMIX_STATUS));
    if (lived == sizeof lives / sizeof *lives)
        return;
    PMIX_LOAD_NSPACE(lives[lived].nspace, of ? of->data.proc->nspace : event->source->nspace);
    lives[lived++].what = event->code == PMIX_EVENT_JOB_START   ? (whole ? "start" : "?start")
                          : event->code == PMIX_LAUNCH_COMPLETE ? (whole ? "launch" : "?launch")
                                                                : (whole ? "end" : "?end");
}
EVENT_HANDLER(on_life, note_life, PMIX_SUCCESS)

static bool end_is_told(void) {
    for (unsigned i = 0; i < lived; i++)
        if (!strcmp(lives[i].nspace, heard.of_job) && strstr(lives[i].what, "end"))
            return true;
    return false;
}

static void print_life(void) {
    char line[256] = "life";
    wait_until(end_is_told, "the end of a life");
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < lived; i++) {
        if (!strcmp(lives[i].nspace, heard.of_job) && strlen(line) < 200) {
            strcat(line, " ");
            strcat(line, lives[i].what);
        }
    }
    pthread_mutex_unlock(&lock);
    say("%s", line);
}

static struct {
    bool has;
    int code;
} gone[64];

static void note_gone_one(const pmix_proc_t *proc, int code) {
    if (proc->rank >= sizeof gone / sizeof *gone || gone[proc->rank].has)
        return note_wrong("the end of rank %u is told wrongly or twice", proc->rank);
    gone[proc->rank].has = true;
    gone[proc->rank].code = code;
}

static void note_gone(const struct event *event) {
    const pmix_value_t *one = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *several = carried(event, PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT);
    const pmix_proc_t *procs = one ? one->data.proc : several ? several->data.darray->array : NULL;
    size_t count = one ? 1 : several ? several->data.darray->size : 0;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(procs[i].nspace, heard.of_job)) /* not the daemons' */
            note_gone_one(&procs[i], code ? code->data.integer : -1);
}
EVENT_HANDLER(on_gone, note_gone, PMIX_SUCCESS)

/* As many as are waited for: all, or the one that ends badly. */
static bool all_gone(void) {
    int count = 0;
    for (size_t r = 0; r < sizeof gone / sizeof *gone; r++)
        count += gone[r].has;
    return count >= (strcmp(ask.tells, "all") ? 1 : ask.np);
}

static void print_gone(void) {
    char line[1024] = "gone", word[32];
    pthread_mutex_lock(&lock);
    for (size_t r = 0; r < sizeof gone / sizeof *gone; r++) {
        if (!gone[r].has)
            continue;
        snprintf(word, sizeof word, " %zu:%d", r, gone[r].code);
        strncat(line, word, sizeof line - strlen(line) - 1);
    }
    pthread_mutex_unlock(&lock);
    say("%s", line);
}

static pmix_nspace_t awaited;
static int awaited_code, awaited_first;
static bool has_ended(void) {
    for (unsigned i = 0; i < heard.ended; i++) {
        if (!strcmp(heard.ends[i].nspace, awaited)) {
            awaited_code = heard.ends[i].code;
            awaited_first = heard.ends[i].first;
            return true;
        }
    }
    return false;
}
static int await_end(const char *nspace) {
    PMIX_LOAD_NSPACE(awaited, nspace);
    wait_until(has_ended, "the end of a job");
    return awaited_code;
}

/* --- tables ----------------------------------------------------------------------------------------------------*/

static pmix_data_array_t *table_of(const char *key, const char *nspace) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t rc;
    PMIX_ARGV_APPEND(rc, query.keys, key);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    pmix_info_t *results = NULL;
    size_t count = 0;
    me.doing = key;
    rc = PMIx_Query_info(&query, 1, &results, &count);
    if (rc != PMIX_SUCCESS)
        fail("%s of %s: %s", key, nspace, status_name(rc));
    if (count != 1 || results[0].value.type != PMIX_DATA_ARRAY || results[0].value.data.darray->type != PMIX_PROC_INFO)
        fail("%s of %s is no table", key, nspace);
    return results[0].value.data.darray;
}

/* All that the host knows, between commas. */
static void namespaces(char *into, size_t size) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t rc;
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
    bool yes = true;
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
    pmix_info_t *results = NULL;
    size_t count = 0;
    me.doing = "PMIX_QUERY_NAMESPACES";
    rc = PMIx_Query_info(&query, 1, &results, &count);
    if (rc != PMIX_SUCCESS || count < 1 || results[0].value.type != PMIX_STRING)
        fail("PMIX_QUERY_NAMESPACES: %s", status_name(rc));
    snprintf(into, size, ",%s,", results[0].value.data.string);
}

/* Of these, what was not there before and is not the job. */
static void find_daemons(const char *before, char *after) {
    char word[PMIX_MAX_NSLEN + 3], *rest = after;
    for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ",")) {
        snprintf(word, sizeof word, ",%s,", one);
        if (*one && !strstr(before, word) && strcmp(one, heard.of_job))
            say("daemons %s", one);
    }
}

static void print_table(const char *nspace) {
    const pmix_data_array_t *table = table_of(PMIX_QUERY_PROC_TABLE, nspace);
    const pmix_proc_info_t *procs = table->array;
    const char *hosts[MAX_HOSTS];
    size_t known = 0;
    for (size_t i = 0; i < table->size; i++) {
        size_t h = 0;
        while (h < known && strcmp(hosts[h], procs[i].hostname))
            h++;
        if (h == known && known < MAX_HOSTS)
            hosts[known++] = procs[i].hostname;
        if (procs[i].pid <= 0 || !procs[i].executable_name || !procs[i].executable_name[0])
            fail("rank %u has no process in the table", procs[i].proc.rank);
    }
    say("table %zu processes on %zu hosts", table->size, known);
}

/* --- the daemons -----------------------------------------------------------------------------------------------*/

static void append(const char *name, const char *line) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("CLIENT_DIR"), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        fail("%s: %s", path, strerror(errno));
    close(fd);
}

static void release(const char *nspace) {
    pmix_info_t info[2];
    bool yes = true;
    pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &all, PMIX_PROC);
    pmix_status_t rc = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me.proc, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("the release: %s", status_name(rc));
}

static void control(const char *nspace, int rank, const char *what) {
    pmix_info_t how, *results = NULL;
    size_t count = 0;
    bool yes = true;
    pmix_proc_t whom = process(nspace, rank < 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)rank);
    PMIX_INFO_LOAD(&how, what, &yes, PMIX_BOOL);
    me.doing = what;
    pmix_status_t rc = PMIx_Job_control(&whom, 1, &how, 1, &results, &count);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("%s: %s", what, status_name(rc));
}

static char state_of(pid_t pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        fail("%s: %s", path, strerror(errno));
    close(fd);
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end[2] : '?';
}

static const char *in_client_dir(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("CLIENT_DIR"), name);
    return path;
}

static void daemon_of_debugger(bool resumes) {
    char host[64] = "", line[1024], word[16], state[32];
    watch(60);
    must(PMIx_tool_init(&me.proc, NULL, 0));
    me.rank = me.proc.rank;
    pmix_status_t end = PMIX_EVENT_JOB_END;
    register_nb(&end, 1, on_end);
    pmix_value_t *target = NULL, *local = NULL, *size = NULL;
    if (!get(PMIX_RANK_WILDCARD, PMIX_DEBUG_TARGET, &target) || target->type != PMIX_PROC)
        fail("no PMIX_DEBUG_TARGET");
    if (!get(me.rank, PMIX_LOCAL_RANK, &local) || !get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size))
        fail("a daemon does not know what it is");
    gethostname(host, sizeof host - 1);
    const char *of = target->data.proc->nspace;
    const pmix_data_array_t *table = table_of(PMIX_QUERY_LOCAL_PROC_TABLE, of);
    const pmix_proc_info_t *procs = table->array;
    snprintf(line, sizeof line, "%u %u %s debugs %s:", me.rank, local->data.uint16, host, of);
    for (size_t i = 0; i < table->size; i++) {
        snprintf(word, sizeof word, " %u", procs[i].proc.rank);
        strncat(line, word, sizeof line - strlen(line) - 2);
        if (procs[i].pid <= 0 || kill(procs[i].pid, 0) != 0)
            fail("rank %u is no process here", procs[i].proc.rank);
        snprintf(state, sizeof state, "%u %c\n", procs[i].proc.rank, state_of(procs[i].pid));
        append("states", state);
    }
    strcat(line, "\n");
    append("daemons", line);
    must(PMIx_Fence(NULL, 0, NULL, 0)); /* of the daemons: nobody is let go before all have looked */
    me.doing = "waiting for a file to go";
    while (access(in_client_dir("wait"), F_OK) == 0)
        rest();
    if (me.rank == 0 && resumes)
        control(of, -1, PMIX_JOB_CTRL_RESUME);
    else if (me.rank == 0)
        release(of);
    snprintf(line, sizeof line, "ended %d\n", await_end(of));
    append("ended", line);
    must(PMIx_tool_finalize());
    exit(0);
}

/* --- the debugger ----------------------------------------------------------------------------------------------*/

static void add(void *list, const char *key, const void *value, pmix_data_type_t type) {
    pmix_status_t rc;
    PMIX_INFO_LIST_ADD(rc, list, key, value, type);
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", key, status_name(rc));
}

static void describe(pmix_app_t *app, const char *program, char *word, int count) {
    static char *argv[2][3];
    static size_t used;
    char **own = argv[used++ % 2];
    own[0] = (char *)(program ? program : ask.self);
    own[1] = program ? NULL : word;
    PMIX_APP_CONSTRUCT(app);
    app->cmd = own[0];
    app->argv = own;
    app->maxprocs = count;
}

static void say_where(void *list, const char *target) {
    uint16_t node = (uint16_t)ask.node, proc = (uint16_t)ask.proc;
    add(list, PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    if (target) {
        pmix_proc_t which = process(target, ask.rank < 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)ask.rank);
        add(list, PMIX_DEBUG_TARGET, &which, PMIX_PROC);
    }
    if (node)
        add(list, PMIX_DEBUG_DAEMONS_PER_NODE, &node, PMIX_UINT16);
    if (proc)
        add(list, PMIX_DEBUG_DAEMONS_PER_PROC, &proc, PMIX_UINT16);
    if (ask.ppr)
        add(list, PMIX_MAPBY, "ppr:1:node", PMIX_STRING);
}

static pmix_status_t spawn(void *list, pmix_app_t *apps, size_t count, pmix_nspace_t nspace) {
    pmix_data_array_t info;
    pmix_status_t rc;
    PMIX_INFO_LIST_CONVERT(rc, list, &info);
    if (rc != PMIX_SUCCESS)
        info = (pmix_data_array_t){.array = NULL};
    me.doing = "PMIx_Spawn";
    return PMIx_Spawn(info.array, info.size, apps, count, nspace);
}

static void start_job(void) {
    void *list, *own;
    pmix_data_array_t info;
    pmix_app_t apps[2];
    pmix_status_t rc;
    PMIX_INFO_LIST_START(list);
    if (!strcmp(ask.stop, "exec") || !strcmp(ask.stop, "both"))
        add(list, PMIX_DEBUG_STOP_ON_EXEC, NULL, PMIX_BOOL);
    if (!strcmp(ask.stop, "init") || !strcmp(ask.stop, "both"))
        add(list, PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
    add(list, ask.life ? PMIX_NOTIFY_JOB_EVENTS : PMIX_NOTIFY_COMPLETION, NULL, PMIX_BOOL);
    if (ask.nohup)
        add(list, PMIX_NOHUP, NULL, PMIX_BOOL);
    if (ask.tells) {
        bool all = !strcmp(ask.tells, "all");
        add(list, all ? PMIX_NOTIFY_PROC_TERMINATION : PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, NULL, PMIX_BOOL);
        add(list, all ? PMIX_LOG_JOB_EVENTS : PMIX_LOG_COMPLETION, NULL, PMIX_BOOL);
    }
    if (ask.logs)
        add(list, !strcmp(ask.logs, "all") ? PMIX_LOG_PROC_TERMINATION : PMIX_LOG_PROC_ABNORMAL_TERMINATION, NULL,
            PMIX_BOOL);
    add(list, PMIX_RANKBY, "slot", PMIX_STRING);
    if (!ask.cospawn)
        add(list, PMIX_MAPBY, "node", PMIX_STRING);
    describe(&apps[0], ask.program, "child", ask.np);
    if (ask.cospawn) {
        describe(&apps[1], ask.daemon, "daemon", 0);
        PMIX_INFO_LIST_START(own);
        say_where(own, NULL);
        PMIX_INFO_LIST_CONVERT(rc, own, &info);
        apps[1].info = info.array;
        apps[1].ninfo = info.size;
    }
    pmix_nspace_t nspace = "";
    rc = spawn(list, apps, ask.cospawn ? 2 : 1, nspace);
    if (ask.cospawn && strcmp(ask.status, "PMIX_SUCCESS")) {
        if (strcmp(status_name(rc), ask.status))
            fail("PMIx_Spawn: %s", status_name(rc));
        return;
    }
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Spawn: %s", status_name(rc));
    pthread_mutex_lock(&lock);
    PMIX_LOAD_NSPACE(heard.of_job, nspace);
    pthread_mutex_unlock(&lock);
    say("job %s", nspace);
}

static bool start_daemons(const char *target) {
    void *list;
    pmix_app_t app;
    PMIX_INFO_LIST_START(list);
    say_where(list, target);
    add(list, PMIX_NOTIFY_COMPLETION, NULL, PMIX_BOOL);
    if (ask.nohup && ask.target)
        add(list, PMIX_NOHUP, NULL, PMIX_BOOL);
    char word[] = "daemon", resuming[] = "resuming-daemon";
    describe(&app, ask.daemon, ask.resume ? resuming : word, 0);
    pmix_status_t rc = spawn(list, &app, 1, heard.of_daemons);
    if (strcmp(status_name(rc), ask.status))
        fail("PMIx_Spawn of the daemons: %s", status_name(rc));
    if (rc == PMIX_SUCCESS)
        say("daemons %s", heard.of_daemons);
    return rc == PMIX_SUCCESS;
}

static void read_word(const char *word) {
    int *numbers[] = {&ask.np, &ask.rank, &ask.node, &ask.proc};
    const char *names[] = {"np=", "rank=", "node=", "proc="};
    const char **texts[] = {&ask.stop, &ask.target, &ask.program, &ask.daemon, &ask.status, &ask.tells, &ask.logs};
    const char *keys[] = {"stop=", "target=", "program=", "daemon=", "status=", "tells=", "logs="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(word, names[i], strlen(names[i])))
            *numbers[i] = atoi(word + strlen(names[i]));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strncmp(word, keys[i], strlen(keys[i])))
            *texts[i] = word + strlen(keys[i]);
    ask.ppr |= !strcmp(word, "ppr");
    ask.cospawn |= !strcmp(word, "cospawn");
    ask.life |= !strcmp(word, "life");
    ask.nohup |= !strcmp(word, "nohup");
    ask.lets |= !strcmp(word, "lets");
    ask.die |= !strcmp(word, "die");
    ask.dies |= !strcmp(word, "dies");
    ask.behind |= !strcmp(word, "dies=behind");
    ask.after |= !strcmp(word, "after");
    ask.pause |= !strcmp(word, "pause");
    ask.stays |= !strcmp(word, "stays");
    ask.resume |= !strcmp(word, "resume");
}

/* Its server may leave meanwhile. */
static void stay(void) {
    char leave[4096];
    append("stays", "stays\n");
    snprintf(leave, sizeof leave, "%s/leave", getenv("CLIENT_DIR"));
    await_file(leave);
    raise(SIGKILL);
}

int main(int argc, char **argv) {
    ask.self = argv[0];
    if (argc > 1 && (!strcmp(argv[1], "daemon") || !strcmp(argv[1], "resuming-daemon")))
        daemon_of_debugger(argv[1][0] == 'r');
    if (argc > 1 && !strcmp(argv[1], "child")) {
        pmix_value_t *local, *of_node;
        char line[64];
        begin(60);
        if (!get(me.rank, PMIX_LOCAL_RANK, &local) || !get(me.rank, PMIX_NODE_RANK, &of_node))
            fail("a process does not know what it is");
        snprintf(line, sizeof line, "%u %u %u\n", me.rank, local->data.uint16, of_node->data.uint16);
        append("places", line);
        pass();
    }
    for (int i = 1; i < argc; i++)
        read_word(argv[i]);
    watch(60);
    me.rank = 0;
    must(PMIx_tool_init(&me.proc, NULL, 0));
    me.low_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pmix_status_t ready = PMIX_READY_FOR_DEBUG, end = PMIX_EVENT_JOB_END, terminated = PMIX_EVENT_PROC_TERMINATED;
    register_nb(&end, 1, on_end);
    pmix_status_t life[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END};
    if (ask.life)
        register_nb(life, 3, on_life);
    if (ask.tells)
        register_nb(&terminated, 1, on_gone);
    if (!ask.target) {
        static char before[8192], after[8192];
        if (ask.cospawn)
            namespaces(before, sizeof before);
        start_job();
        if (ask.cospawn && !strcmp(ask.status, "PMIX_SUCCESS")) {
            namespaces(after, sizeof after);
            find_daemons(before, after);
        }
        if (strcmp(ask.status, "PMIX_SUCCESS") && ask.cospawn)
            goto out;
        register_nb(&ready, 1, on_ready);
        if (strcmp(ask.stop, "no")) {
            wait_for_count(&heard.ready, 1, "PMIX_READY_FOR_DEBUG");
            say("stops at %s", heard.place);
        }
        if (ask.lets)
            release(heard.of_job);
        if (ask.lets)
            print_table(heard.of_job); /* answered behind it */
        if (ask.die)
            raise(SIGKILL);
        if (ask.stays)
            stay();
        if (!ask.cospawn)
            print_table(heard.of_job);
    }
    const char *target = ask.target ? ask.target : heard.of_job;
    if (ask.pause) {
        control(target, ask.rank, PMIX_JOB_CTRL_PAUSE);
        print_table(target);
    }
    bool runs = ask.cospawn || start_daemons(target);
    if (ask.stays)
        stay();
    if (ask.behind)
        await_end(heard.of_daemons);
    if (ask.dies || ask.behind)
        raise(SIGKILL);
    if (ask.after) {
        say("end daemons %d", await_end(heard.of_daemons));
        release(target);
    }
    if (runs && !ask.target)
        say("end job %d", await_end(target));
    if (runs && !ask.target && awaited_first >= 0)
        say("first %d", awaited_first);
    if (ask.life && runs && !ask.target)
        print_life();
    if (ask.tells) /* they come on another way than the end of the job */
        wait_until(all_gone, "the ends of its processes");
    if (ask.tells)
        print_gone();
    if (runs && !ask.cospawn && !ask.after)
        say("end daemons %d", await_end(heard.of_daemons));
out:
    must(PMIx_tool_finalize());
    say("ok 0");
    return 0;
}
