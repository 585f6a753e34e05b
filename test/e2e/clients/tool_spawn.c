/* A PMIx tool that starts jobs by the system's server, in allocations that it names or asks for.
 * usage: tool_spawn WORD ...
 * Words for what follows: nodes=N list=HOSTS cpus=N mem=MB time=SECONDS queue=NAME reqid=NAME id=ID (@: the last new
 * one's) session=NUMBER timeout=SECONDS np=N, and nohup, out (standard output comes to the tool), notify (the job's
 * end), required (the attribute before it).
 *        patient      a spawn is tried again as long as the place is busy
 *        spawn COMMAND    so many processes of `sh -c COMMAND`: "spawn STATUS NS after S"
 *        new, release     PMIx_Allocation_request: "new STATUS ID", "release STATUS"
 *        ended            waits for the end of the last job that was spawned with notify: "ended NS CODE"
 *        namespaces, queues   "namespaces STATUS TEXT": what PMIx_Query_info says
 *        hold=FILE        "held", and then waits until FILE exists
 * Each of these uses up the words before it. "init STATUS" when it does not connect; "finalize STATUS" at the end. */
#include "events.h"

#include <pmix_tool.h>

static struct {
    pmix_info_t info[24];
    size_t n;
    int np;
} wish;
static char last_id[64];
static pmix_nspace_t last_job;
static bool is_patient;

static void add(const char *key, const void *value, pmix_data_type_t type) {
    if (wish.n == sizeof wish.info / sizeof wish.info[0])
        fail("too many words");
    PMIX_INFO_LOAD(&wish.info[wish.n], key, value, type);
    wish.n++;
}

static void used_up(void) {
    for (size_t i = 0; i < wish.n; i++)
        PMIX_INFO_DESTRUCT(&wish.info[i]);
    wish.n = 0;
    wish.np = 0;
}

static struct {
    pmix_nspace_t nspaces[32];
    int codes[32];
    unsigned count;
} ends;

static void note(const struct event *event) {
    const pmix_value_t *of = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT);
    if (!of || ends.count == 32)
        return note_wrong("the end of a job without its name, or one too many");
    PMIX_LOAD_NSPACE(ends.nspaces[ends.count], of->data.proc->nspace);
    ends.codes[ends.count++] = code ? code->data.integer : -1;
}
EVENT_HANDLER(on_end, note, PMIX_EVENT_ACTION_COMPLETE)

static int end_of_last(void) {
    for (unsigned i = 0; i < ends.count; i++)
        if (!strcmp(ends.nspaces[i], last_job))
            return (int)i;
    return -1;
}
static bool last_has_ended(void) {
    return end_of_last() >= 0;
}

static void spawn(char *command) {
    char *argv[] = {"sh", "-c", command, NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = "/bin/sh";
    app.argv = argv;
    app.maxprocs = wish.np ? wish.np : 1;
    pmix_nspace_t nspace = "";
    bool no = false;
    if (wish.n == 0) /* libpmix 5.0.7 fails with PMIX_ERR_EMPTY where a tool gives none */
        add(PMIX_NOTIFY_JOB_EVENTS, &no, PMIX_BOOL);
    double since = now();
    me.doing = "PMIx_Spawn";
    pmix_status_t rc = PMIx_Spawn(wish.info, wish.n, &app, 1, nspace);
    while (is_patient && rc == PMIX_ERR_RESOURCE_BUSY) {
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* each try is a line in the gate's log */
        rc = PMIx_Spawn(wish.info, wish.n, &app, 1, nspace);
    }
    if (rc == PMIX_SUCCESS)
        PMIX_LOAD_NSPACE(last_job, nspace);
    say("spawn %s %s after %.1f", status_name(rc), rc == PMIX_SUCCESS ? nspace : "-", now() - since);
}

static void allocation(const char *what, pmix_alloc_directive_t directive) {
    pmix_info_t *results = NULL;
    size_t count = 0;
    me.doing = "PMIx_Allocation_request";
    pmix_status_t rc = PMIx_Allocation_request(directive, wish.info, wish.n, &results, &count);
    const pmix_info_t *id = rc == PMIX_SUCCESS ? find_info(results, count, PMIX_ALLOC_ID) : NULL;
    if (id && id->value.type == PMIX_STRING)
        snprintf(last_id, sizeof last_id, "%s", id->value.data.string);
    say("%s %s %s", what, status_name(rc), id ? last_id : "-");
    if (results)
        PMIX_INFO_FREE(results, count);
}

static void query(const char *what, const char *key) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t rc;
    PMIX_ARGV_APPEND(rc, query.keys, key);
    pmix_info_t *results = NULL;
    size_t count = 0;
    me.doing = "PMIx_Query_info";
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Query_info(&query, 1, &results, &count);
    const pmix_info_t *answer = count > 0 ? &results[0] : NULL;
    say("%s %s %s", what, status_name(rc),
        answer && answer->value.type == PMIX_STRING ? answer->value.data.string : "-");
    if (results)
        PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
}

static void take_value(char *word, char *value) {
    uint64_t big = strtoull(value, NULL, 10);
    uint32_t number = (uint32_t)big;
    int plain = atoi(value);
    float size = strtof(value, NULL);
    if (!strcmp(word, "nodes"))
        add(PMIX_ALLOC_NUM_NODES, &big, PMIX_UINT64);
    else if (!strcmp(word, "cpus"))
        add(PMIX_ALLOC_NUM_CPUS, &big, PMIX_UINT64);
    else if (!strcmp(word, "mem"))
        add(PMIX_ALLOC_MEM_SIZE, &size, PMIX_FLOAT);
    else if (!strcmp(word, "time"))
        add(PMIX_ALLOC_TIME, &number, PMIX_UINT32);
    else if (!strcmp(word, "list"))
        add(PMIX_ALLOC_NODE_LIST, value, PMIX_STRING);
    else if (!strcmp(word, "queue"))
        add(PMIX_ALLOC_QUEUE, value, PMIX_STRING);
    else if (!strcmp(word, "reqid"))
        add(PMIX_ALLOC_REQ_ID, value, PMIX_STRING);
    else if (!strcmp(word, "id"))
        add(PMIX_ALLOC_ID, strcmp(value, "@") ? value : last_id, PMIX_STRING);
    else if (!strcmp(word, "session"))
        add(PMIX_SESSION_ID, &number, PMIX_UINT32);
    else if (!strcmp(word, "timeout"))
        add(PMIX_TIMEOUT, &plain, PMIX_INT);
    else if (!strcmp(word, "np"))
        wish.np = plain;
    else if (!strcmp(word, "hold")) {
        say("held");
        await_file(value);
    } else
        fail("what is %s?", word);
}

/* False: it needs the next word, which is not there. */
static bool take(char *word, char *next, bool *took_next) {
    bool yes = true;
    char *value = strchr(word, '=');
    if (value) {
        *value = '\0';
        take_value(word, value + 1);
        return true;
    }
    if (!strcmp(word, "patient"))
        is_patient = true;
    else if (!strcmp(word, "nohup"))
        add(PMIX_NOHUP, &yes, PMIX_BOOL);
    else if (!strcmp(word, "out"))
        add(PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    else if (!strcmp(word, "notify"))
        add(PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    else if (!strcmp(word, "required") && wish.n > 0)
        PMIX_INFO_REQUIRED(&wish.info[wish.n - 1]);
    else if (!strcmp(word, "spawn") && next) {
        spawn(next);
        *took_next = true;
        used_up();
    } else if (!strcmp(word, "new") || !strcmp(word, "release")) {
        allocation(word, word[0] == 'n' ? PMIX_ALLOC_NEW : PMIX_ALLOC_RELEASE);
        used_up();
    } else if (!strcmp(word, "namespaces"))
        query(word, PMIX_QUERY_NAMESPACES);
    else if (!strcmp(word, "queues"))
        query(word, PMIX_QUERY_QUEUE_LIST);
    else if (!strcmp(word, "ended")) {
        wait_until(last_has_ended, "the end of the job");
        say("ended %s %d", last_job, ends.codes[end_of_last()]);
    } else
        return false;
    return true;
}

int main(int argc, char **argv) {
    watch(150);
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL);
    me.doing = "PMIx_tool_init";
    pmix_status_t rc = PMIx_tool_init(&me.proc, &info, 1);
    if (rc != PMIX_SUCCESS) {
        say("init %s", status_name(rc));
        return 1;
    }
    pmix_status_t code = PMIX_EVENT_JOB_END;
    register_nb(&code, 1, on_end);
    for (int i = 1; i < argc; i++) {
        bool took_next = false;
        if (!take(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &took_next))
            fail("what is %s?", argv[i]);
        i += took_next;
    }
    me.doing = "PMIx_tool_finalize";
    say("finalize %s", status_name(PMIx_tool_finalize()));
    return 0;
}
