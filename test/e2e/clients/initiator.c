/* A debugger that starts a launcher without a program by PMIx_Spawn, and then spawns by it: indirect launch, as the
 * standard has it with the initiator parsing the command line.
 * usage: initiator WORD ... -- LAUNCHER ARGUMENT ...
 * Words for the next spawn: np=N mapby=POLICY stop=exec|init|app, and
 *        in               its standard input is the debugger's to give
 *        nohup, agent     PMIX_NOHUP; PMIX_LAUNCHER_DAEMON
 *        daemons          PMIX_DEBUGGER_DAEMONS, one on each host of the last job
 * Words that do something:
 *        run COMMAND      `sh -c COMMAND`: "run STATUS"
 *        exec PROGRAM     likewise
 *        runs             waits until all of it is heard to run: "runs"
 *        stopped          waits until it has stopped: "stops at PLACE"
 *        release          lets it go
 *        table            "table N processes on H hosts"
 *        push=TEXT        to its input, which ends
 *        pull             its output is pulled, with a callback: "pull STATUS"
 *        ended            waits for its end: "end CODE", "end CODE of RANK"
 *        stale            "stale STATUS": the table of a job that there is not
 *        held             makes the file "held", and waits for the file "go"
 *        die, leave       kills itself; finalizes
 *        told             the launcher is told that the debugger ends (PMIX_EVENT_JOB_END)
 *        gone             waits for the end of the launcher: "launcher gone"
 * Prints "launcher ready" before. What spawned processes write is printed; what the launcher writes to its standard
 * output is not. */
#include "initiator.h"

enum { most_jobs = 16 };

static struct {
    int np;
    const char *mapby, *stop;
    bool in, nohup, agent, daemons;
} wish;

static struct {
    pmix_nspace_t nspace;
    bool launched, ended;
    char place[64];
    int code, first;
} jobs[most_jobs];
static unsigned job_count, launchers_ready, launchers_lost;
static pmix_nspace_t last; /* that was spawned */

/* Events may come before PMIx_Spawn has returned. Under the lock. */
static unsigned number_of(const char *nspace) {
    unsigned at = 0;
    while (at < job_count && strcmp(jobs[at].nspace, nspace))
        at++;
    if (at == most_jobs) {
        note_wrong("too many jobs");
        return 0;
    }
    if (at == job_count) {
        PMIX_LOAD_NSPACE(jobs[at].nspace, nspace);
        jobs[at].code = jobs[at].first = -1;
        job_count++;
    }
    return at;
}

static void note_launcher(const struct event *event) {
    (void)event;
    launchers_ready++;
}
EVENT_HANDLER(on_launcher, note_launcher, PMIX_SUCCESS)

static void note_launched(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING);
    if (!nspace)
        return note_wrong("PMIX_LAUNCH_COMPLETE has no PMIX_NSPACE");
    jobs[number_of(nspace->data.string)].launched = true;
}
EVENT_HANDLER(on_launched, note_launched, PMIX_SUCCESS)

static void note_ready(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING),
                       *place = carried(event, PMIX_BREAKPOINT, PMIX_STRING);
    if (!nspace || !place)
        return note_wrong("PMIX_READY_FOR_DEBUG lacks something");
    unsigned job = number_of(nspace->data.string);
    snprintf(jobs[job].place, sizeof jobs[job].place, "%s", place->data.string);
}
EVENT_HANDLER(on_ready, note_ready, PMIX_SUCCESS)

static void note_end(const struct event *event) {
    const pmix_value_t *of = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT),
                       *first = carried(event, PMIX_PROCID, PMIX_PROC);
    if (!of)
        return note_wrong("PMIX_EVENT_JOB_END affects nobody");
    unsigned job = number_of(of->data.proc->nspace);
    jobs[job].code = code ? code->data.integer : -1;
    jobs[job].first = first ? (int)first->data.proc->rank : -1;
    jobs[job].ended = true;
}
EVENT_HANDLER(on_end, note_end, PMIX_SUCCESS)

static void note_lost(const struct event *event) {
    (void)event;
    launchers_lost++;
}
EVENT_HANDLER(on_lost, note_lost, PMIX_SUCCESS)

static bool is_gone; /* the launcher: nothing else is waited for */
static bool last_runs(void) {
    return jobs[number_of(last)].launched || launchers_lost;
}
static bool last_stands(void) {
    return jobs[number_of(last)].place[0] || launchers_lost;
}
static bool last_has_ended(void) {
    return jobs[number_of(last)].ended || launchers_lost;
}

static void await_job(bool (*come)(void), const char *what) {
    wait_until(come, what);
    if (launchers_lost && !is_gone)
        fail("the launcher is gone, %s", what);
}

static void printed(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *bytes,
                    pmix_info_t info[], size_t ninfo) {
    (void)id, (void)channel, (void)info, (void)ninfo;
    if (bytes && bytes->size)
        say("pulled %u: %.*s", source->rank, (int)bytes->size, bytes->bytes);
}

static void spawn(char *program, char *command) {
    pmix_status_t rc;
    pmix_app_t app;
    void *list;
    pmix_data_array_t info;
    uint16_t one = 1;
    pmix_rank_t all = PMIX_RANK_WILDCARD;
    char *argv[] = {program, command ? "-c" : NULL, command, NULL};
    pmix_proc_t target = process(last, PMIX_RANK_WILDCARD);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = argv;
    app.maxprocs = wish.np ? wish.np : 1;
    PMIX_INFO_LIST_START(list);
    add(list, PMIX_NOTIFY_JOB_EVENTS, NULL, PMIX_BOOL);
    add(list, PMIX_FWD_STDOUT, NULL, PMIX_BOOL);
    add(list, PMIX_FWD_STDERR, NULL, PMIX_BOOL);
    if (wish.mapby)
        add(list, PMIX_MAPBY, wish.mapby, PMIX_STRING);
    if (wish.stop)
        add(list,
            !strcmp(wish.stop, "exec")  ? PMIX_DEBUG_STOP_ON_EXEC
            : !strcmp(wish.stop, "app") ? PMIX_DEBUG_STOP_IN_APP
                                        : PMIX_DEBUG_STOP_IN_INIT,
            NULL, PMIX_BOOL);
    if (wish.in)
        add(list, PMIX_FWD_STDIN, &all, PMIX_PROC_RANK);
    if (wish.nohup)
        add(list, PMIX_NOHUP, NULL, PMIX_BOOL);
    if (wish.agent)
        add(list, PMIX_LAUNCHER_DAEMON, "/bin/true", PMIX_STRING);
    if (wish.daemons) {
        add(list, PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
        add(list, PMIX_DEBUG_TARGET, &target, PMIX_PROC);
        add(list, PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
    }
    PMIX_INFO_LIST_CONVERT(rc, list, &info);
    memset(&wish, 0, sizeof wish);
    me.doing = "PMIx_Spawn by the launcher";
    pmix_nspace_t nspace = "";
    rc = PMIx_Spawn(info.array, info.size, &app, 1, nspace);
    say("run %s", status_name(rc));
    if (rc == PMIX_SUCCESS)
        PMIX_LOAD_NSPACE(last, nspace);
}

static void pull(void) {
    pmix_proc_t all = process(last, PMIX_RANK_WILDCARD);
    me.doing = "PMIx_IOF_pull";
    pmix_status_t rc = PMIx_IOF_pull(&all, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, printed, NULL, NULL);
    say("pull %s", rc >= 0 ? "PMIX_SUCCESS" : status_name(rc));
}

static void tell_end(const pmix_proc_t *launcher) {
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_AFFECTED_PROC, launcher, PMIX_PROC);
    pmix_status_t rc = PMIx_Notify_event(PMIX_EVENT_JOB_END, &me.proc, PMIX_RANGE_GLOBAL, info, 2, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("PMIX_EVENT_JOB_END: %s", status_name(rc));
}

static bool note_wish(const char *word) {
    struct {
        const char *word;
        bool *flag;
    } flags[] = {{"in", &wish.in}, {"nohup", &wish.nohup}, {"agent", &wish.agent}, {"daemons", &wish.daemons}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(word, flags[i].word))
            return *flags[i].flag = true;
    if (!strncmp(word, "np=", 3))
        return (wish.np = atoi(word + 3)) > 0;
    if (!strncmp(word, "mapby=", 6))
        return (wish.mapby = word + 6);
    return !strncmp(word, "stop=", 5) && (wish.stop = word + 5);
}

static void do_word(char ***at, const pmix_proc_t *launcher) {
    char *word = *(*at)++;
    pmix_proc_t all = process(last, PMIX_RANK_WILDCARD);
    if (!strcmp(word, "run")) {
        spawn("/bin/sh", *(*at)++);
    } else if (!strcmp(word, "exec")) {
        spawn(*(*at)++, NULL);
    } else if (!strcmp(word, "runs")) {
        await_job(last_runs, "PMIX_LAUNCH_COMPLETE");
        say("runs");
    } else if (!strcmp(word, "stopped")) {
        await_job(last_stands, "PMIX_READY_FOR_DEBUG");
        say("stops at %s", jobs[number_of(last)].place);
    } else if (!strcmp(word, "release")) {
        release(&all);
    } else if (!strcmp(word, "table")) {
        print_table(last, true);
    } else if (!strncmp(word, "push=", 5)) {
        push(last, word + 5);
    } else if (!strcmp(word, "pull")) {
        pull();
    } else if (!strcmp(word, "ended")) {
        await_job(last_has_ended, "PMIX_EVENT_JOB_END");
        unsigned job = number_of(last);
        if (jobs[job].first >= 0)
            say("end %d of %d", jobs[job].code, jobs[job].first);
        else
            say("end %d", jobs[job].code);
    } else if (!strcmp(word, "stale")) {
        pmix_info_t *results = NULL;
        size_t count = 0;
        say("stale %s", status_name(query("nobody", &results, &count)));
    } else if (!strcmp(word, "held")) {
        close(open("held", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        me.doing = "waiting for a file";
        while (access("go", F_OK) != 0)
            rest();
    } else if (!strcmp(word, "die")) {
        raise(SIGKILL);
    } else if (!strcmp(word, "leave")) {
        must(PMIx_tool_finalize());
        say("ok 0");
        exit(0);
    } else if (!strcmp(word, "told")) {
        tell_end(launcher);
    } else if (!strcmp(word, "gone")) {
        is_gone = true;
        wait_for_count(&launchers_lost, 1, "the end of the launcher");
        say("launcher gone");
    } else if (!note_wish(word)) {
        fail("what is %s?", word);
    }
}

int main(int argc, char **argv) {
    char **words = argv + 1, **launcher_words = words;
    while (*launcher_words && strcmp(*launcher_words, "--"))
        launcher_words++;
    if (argc < 3 || !*launcher_words || !launcher_words[1])
        exit(2);
    watch(60);
    me.rank = 0;
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_LAUNCHER, &yes, PMIX_BOOL);
    must(PMIx_tool_init(&me.proc, info, 2));
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION, ready = PMIX_READY_FOR_DEBUG, end = PMIX_EVENT_JOB_END,
                  launcher_ready = PMIX_LAUNCHER_READY, launched = PMIX_LAUNCH_COMPLETE;
    register_nb(&lost, 1, on_lost);
    pmix_proc_t launcher = start_launcher(launcher_words + 1, NULL, false, false);
    connect_to(&launcher);
    register_nb(&launcher_ready, 1, on_launcher);
    register_nb(&launched, 1, on_launched);
    register_nb(&ready, 1, on_ready);
    register_nb(&end, 1, on_end);
    wait_for_count(&launchers_ready, 1, "PMIX_LAUNCHER_READY");
    say("launcher ready");
    while (words < launcher_words)
        do_word(&words, &launcher);
    must(PMIx_tool_finalize());
    say("ok 0");
    return 0;
}
