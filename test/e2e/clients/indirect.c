/* A debugger that starts a launcher by PMIx_Spawn, which starts the job: indirect launch, as the standard has it with
 * the launcher parsing its own command line.
 * usage: indirect [WORD ...] -- LAUNCHER ARGUMENT ...
 *        stop=exec|init|app|no [init]   for all processes
 *        rank=N           of this one alone
 *        ranks=N,N,...    of these alone
 *        early            asks for something before it lets the launcher go
 *        pause            does so when the file "go" is there, and makes "held" before
 *        daemon=PATH      starts "PATH daemon" on each host, which lets the job go; else this does
 *        after            this does when the daemons have ended
 *        first            makes the file "started" when the first process has started, and the others have not;
 *                         does not ask for the table
 *        bad              waits until a process has ended badly
 *        push=TEXT        then, to the launcher's standard input, which then ends
 *        only=N           lets this one go alone
 *        resume           lets go by PMIX_JOB_CTRL_RESUME
 *        pauses           pauses it by PMIX_JOB_CTRL_PAUSE; with stop=no nobody lets it go on
 *        kill             does not let go, but kills the launcher by PMIX_JOB_CTRL_KILL
 *        ends=terminate|N ends the launcher while it holds it, by PMIX_JOB_CTRL_TERMINATE or the signal N, and waits
 *                         for the loss of it
 *        die=held|waits|stops|runs|left|gone   kills itself there; waits: behind the release of the launcher, when the
 *                         file "go" is there; left: when the daemons have ended; gone: behind the release of the
 *                         processes
 *        leave            finalizes and ends while it holds the launcher
 *        cut=held|stops|runs  makes "held" there, and waits for the loss of the launcher, which it hears of as
 *                         of its end
 *        nohup            the launcher has no keep-alive pipe (PMIX_NOHUP)
 *        fields           what the events have is printed: "fields start(...) launch(...) end(...)", and "bad(...)"
 *                         and "gone(...)" of the first of these
 *        tells=all|bad    ends of processes are told, "gone RANK:CODE ..."
 *        logs=all|bad     these are lines for the user, and with "all" the job's start, and its end
 *        session          waits, before it lets the launcher go, until the launcher has its allocation; behind the end
 *                         of the job for the end of that, "session ended"
 *        sessions         prints how often it has heard of either at the end of the launcher, "sessions N"
 * Prints "launcher ready", "early STATUS", "job NS", "first", "runs", "stops at PLACE", "table N processes on H hosts",
 * "daemons NS", "end CODE" or "end CODE of RANK", "launcher gone". What the launcher prints is printed, too. */
#include "initiator.h"

static struct {
    const char *stop, *daemon, *push, *die, *cut, *ends, *tells, *logs;
    char *ranks;
    int rank, only;
    bool resume, kill, early, pause, pauses, after, bad, leave, nohup, first, fields, session, sessions;
} ask = {.stop = "init", .rank = -1, .only = -1};

static struct {
    unsigned bad, ready_launcher, start, launched, stopped, ended, daemons_ended, lost;
    char place[64];
    pmix_nspace_t job;
    int code, first;
    char fields[1024];
    unsigned session_began, session_ended;
    pmix_nspace_t of_session;
    char allocation[32];
    struct {
        bool has;
        int code;
    } gone[64];
    bool noted_bad, noted_gone;
} heard = {.code = -1, .first = -1};

/* --- events ----------------------------------------------------------------------------------------------------*/

/* What of the standard's fields an event about this job has. */
static void note_fields(const char *name, const struct event *event) {
    const pmix_value_t *one = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *time_of = carried(event, PMIX_EVENT_TIMESTAMP, PMIX_TIME),
                       *status = carried(event, PMIX_JOB_TERM_STATUS, PMIX_STATUS),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT),
                       *host = carried(event, PMIX_HOSTNAME, PMIX_STRING);
    size_t used = strlen(heard.fields);
    bool source = !strcmp(event->source->nspace, heard.job),
         affected = one && !strcmp(one->data.proc->nspace, heard.job) &&
                    one->data.proc->rank ==
                        (event->source->rank == PMIX_RANK_UNDEF ? PMIX_RANK_WILDCARD : event->source->rank);
    char how[32] = "", what[32] = "";
    if (status)
        snprintf(how, sizeof how, " status=%s",
                 status->data.status == PMIX_SUCCESS                 ? "well"
                 : status->data.status == PMIX_ERR_JOB_NON_ZERO_TERM ? "nonzero"
                                                                     : "other");
    if (code)
        snprintf(what, sizeof what, " code=%d", code->data.integer);
    snprintf(heard.fields + used, sizeof heard.fields - used, " %s(%s%s%s%s%s%s)", name, source ? "source" : "?",
             affected ? " affected" : "", time_of && labs(time(NULL) - time_of->data.time) < 600 ? " time" : "", how,
             what, host ? " host" : "");
}

static void note_launcher(const struct event *event) {
    (void)event;
    heard.ready_launcher++;
}
EVENT_HANDLER(on_launcher, note_launcher, PMIX_SUCCESS)

static void note_job(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING);
    if (!nspace)
        return note_wrong("event %d has no PMIX_NSPACE", event->code);
    if (event->code == PMIX_EVENT_JOB_START) {
        heard.start++;
        PMIX_LOAD_NSPACE(heard.job, nspace->data.string);
    } else {
        heard.launched++;
    }
    note_fields(event->code == PMIX_EVENT_JOB_START ? "start" : "launch", event);
}
EVENT_HANDLER(on_job, note_job, PMIX_SUCCESS)

static void note_ready(const struct event *event) {
    const pmix_value_t *nspace = carried(event, PMIX_NSPACE, PMIX_STRING),
                       *place = carried(event, PMIX_BREAKPOINT, PMIX_STRING);
    if (!nspace || !place)
        return note_wrong("PMIX_READY_FOR_DEBUG lacks something");
    snprintf(heard.place, sizeof heard.place, "%s", place->data.string);
    PMIX_LOAD_NSPACE(heard.job, nspace->data.string);
    heard.stopped++;
}
EVENT_HANDLER(on_ready, note_ready, PMIX_SUCCESS)

static void note_end(const struct event *event) {
    const pmix_value_t *of = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT),
                       *first = carried(event, PMIX_PROCID, PMIX_PROC);
    if (!of)
        return note_wrong("PMIX_EVENT_JOB_END affects nobody");
    if (strcmp(of->data.proc->nspace, heard.job)) {
        heard.daemons_ended++;
        return;
    }
    heard.code = code ? code->data.integer : -1;
    heard.first = first ? (int)first->data.proc->rank : -1;
    if (!heard.launched || (strcmp(ask.stop, "no") && !heard.stopped))
        note_wrong("the job ended before it ran");
    note_fields("end", event);
    heard.ended++;
}
EVENT_HANDLER(on_end, note_end, PMIX_SUCCESS)

static void note_bad(const struct event *event) {
    if (!heard.noted_bad)
        note_fields("bad", event);
    heard.noted_bad = true;
    heard.bad++;
}
EVENT_HANDLER(on_bad, note_bad, PMIX_SUCCESS)

static void note_gone(const struct event *event) {
    const pmix_value_t *one = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *several = carried(event, PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY),
                       *code = carried(event, PMIX_EXIT_CODE, PMIX_INT);
    const pmix_proc_t *procs = one ? one->data.proc : several ? several->data.darray->array : NULL;
    size_t count = one ? 1 : several ? several->data.darray->size : 0;
    if (one && !heard.noted_gone) {
        note_fields("gone", event);
        heard.noted_gone = true;
    }
    for (size_t i = 0; i < count; i++) {
        size_t rank = procs[i].rank;
        if (strcmp(procs[i].nspace, heard.job) || rank >= sizeof heard.gone / sizeof *heard.gone ||
            heard.gone[rank].has) {
            note_wrong("the end of rank %zu of %s is told wrongly or twice", rank, procs[i].nspace);
            continue;
        }
        heard.gone[rank].has = true;
        heard.gone[rank].code = code ? code->data.integer : -1;
    }
}
EVENT_HANDLER(on_gone, note_gone, PMIX_SUCCESS)

static void print_gone(void) {
    char line[1024] = "gone", word[32];
    pthread_mutex_lock(&lock);
    for (size_t r = 0; r < sizeof heard.gone / sizeof *heard.gone; r++) {
        if (!heard.gone[r].has)
            continue;
        snprintf(word, sizeof word, " %zu:%d", r, heard.gone[r].code);
        strncat(line, word, sizeof line - strlen(line) - 1);
    }
    pthread_mutex_unlock(&lock);
    say("%s", line);
}

/* The allocation is named as the RM's users do, and as a number; whom it is for is the job that comes. */
static void note_session(const struct event *event) {
    const pmix_value_t *id = carried(event, PMIX_ALLOC_ID, PMIX_STRING),
                       *number = carried(event, PMIX_SESSION_ID, PMIX_UINT32),
                       *of = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    if (!id || !number || !of || !carried(event, PMIX_EVENT_TIMESTAMP, PMIX_TIME) ||
        (unsigned)atoi(id->data.string) != number->data.uint32 || strcmp(of->data.proc->nspace, event->source->nspace))
        return note_wrong("event %d of a session lacks something", event->code);
    if (event->code == PMIX_EVENT_SESSION_START) {
        snprintf(heard.allocation, sizeof heard.allocation, "%s", id->data.string);
        PMIX_LOAD_NSPACE(heard.of_session, of->data.proc->nspace);
        heard.session_began++;
        return;
    }
    if (strcmp(heard.allocation, id->data.string) || (heard.job[0] && strcmp(heard.of_session, heard.job)))
        note_wrong("the session that ends, %s, is another one", id->data.string);
    heard.session_ended++;
}
EVENT_HANDLER(on_session, note_session, PMIX_SUCCESS)

static void note_lost(const struct event *event) {
    (void)event;
    if (!heard.job[0] && !ask.cut && !ask.ends) /* else the end of the job is still to come */
        note_wrong("the launcher is gone");
    heard.lost++;
}
EVENT_HANDLER(on_lost, note_lost, PMIX_SUCCESS)

/* --- the launcher ----------------------------------------------------------------------------------------------*/

static void *launch_directives(void) {
    void *launch;
    PMIX_INFO_LIST_START(launch);
    if (strcmp(ask.stop, "no")) {
        const char *key = !strcmp(ask.stop, "exec")  ? PMIX_DEBUG_STOP_ON_EXEC
                          : !strcmp(ask.stop, "app") ? PMIX_DEBUG_STOP_IN_APP
                                                     : PMIX_DEBUG_STOP_IN_INIT;
        static pmix_rank_t ranks[64];
        pmix_data_array_t array = {.type = PMIX_PROC_RANK, .array = ranks};
        pmix_rank_t rank = (pmix_rank_t)ask.rank;
        for (char *at = ask.ranks ? strtok(ask.ranks, ",") : NULL; at && array.size < 64; at = strtok(NULL, ","))
            ranks[array.size++] = (pmix_rank_t)atoi(at);
        if (array.size)
            add(launch, key, &array, PMIX_DATA_ARRAY);
        else
            add(launch, key, ask.rank < 0 ? NULL : &rank, ask.rank < 0 ? PMIX_BOOL : PMIX_PROC_RANK);
    }
    add(launch, PMIX_NOTIFY_JOB_EVENTS, NULL, PMIX_BOOL);
    if (ask.tells)
        add(launch, strcmp(ask.tells, "all") ? PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION : PMIX_NOTIFY_PROC_TERMINATION,
            NULL, PMIX_BOOL);
    if (ask.logs) {
        bool all = !strcmp(ask.logs, "all");
        add(launch, all ? PMIX_LOG_PROC_TERMINATION : PMIX_LOG_PROC_ABNORMAL_TERMINATION, NULL, PMIX_BOOL);
        add(launch, all ? PMIX_LOG_JOB_EVENTS : PMIX_LOG_COMPLETION, NULL, PMIX_BOOL);
    }
    return launch;
}

/* With a signal, or none. */
static void control_by(const pmix_proc_t *whom, const char *key, int signal) {
    pmix_info_t how, *results = NULL;
    size_t count = 0;
    bool yes = true;
    if (signal)
        PMIX_INFO_LOAD(&how, key, &signal, PMIX_INT);
    else
        PMIX_INFO_LOAD(&how, key, &yes, PMIX_BOOL);
    me.doing = "PMIx_Job_control";
    pmix_status_t rc = PMIx_Job_control(whom, 1, &how, 1, &results, &count);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("%s: %s", key, status_name(rc));
}

static void control(const pmix_proc_t *whom, const char *key) {
    control_by(whom, key, 0);
}

/* --- the job ---------------------------------------------------------------------------------------------------*/

static void start_daemons(void) {
    pmix_status_t rc;
    pmix_app_t app;
    void *list;
    pmix_data_array_t info;
    pmix_nspace_t nspace;
    uint16_t one = 1;
    char *argv[] = {(char *)ask.daemon, "daemon", NULL};
    pmix_proc_t job = process(heard.job, PMIX_RANK_WILDCARD);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = argv[0];
    app.argv = argv;
    PMIX_INFO_LIST_START(list);
    add(list, PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    add(list, PMIX_DEBUG_TARGET, &job, PMIX_PROC);
    add(list, PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
    add(list, PMIX_NOTIFY_COMPLETION, NULL, PMIX_BOOL);
    PMIX_INFO_LIST_CONVERT(rc, list, &info);
    me.doing = "PMIx_Spawn of the daemons";
    rc = PMIx_Spawn(info.array, info.size, &app, 1, nspace);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Spawn of the daemons: %s", status_name(rc));
    say("daemons %s", nspace);
}

static void await_go(void) {
    me.doing = "waiting for a file";
    while (access("go", F_OK) != 0)
        rest();
}

static void dies(const char *where) {
    if (ask.die && !strcmp(ask.die, where))
        raise(SIGKILL);
}

static void end_without_launcher(void) {
    wait_for_count(&heard.lost, 1, "the loss of the launcher");
    say("launcher gone");
    must(PMIx_tool_finalize());
    say("ok 0");
    exit(0);
}

static void is_cut(const char *where) {
    if (!ask.cut || strcmp(ask.cut, where))
        return;
    close(open("held", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    end_without_launcher();
}

static void end_held(const pmix_proc_t *launcher) {
    if (!ask.ends)
        return;
    int signal = atoi(ask.ends);
    control_by(launcher, signal ? PMIX_JOB_CTRL_SIGNAL : PMIX_JOB_CTRL_TERMINATE, signal);
    end_without_launcher();
}

static char **read_words(char **word) {
    for (; *word && strcmp(*word, "--"); word++) {
        ask.early |= !strcmp(*word, "early");
        ask.resume |= !strcmp(*word, "resume");
        ask.kill |= !strcmp(*word, "kill");
        ask.leave |= !strcmp(*word, "leave");
        ask.nohup |= !strcmp(*word, "nohup");
        ask.bad |= !strcmp(*word, "bad");
        ask.first |= !strcmp(*word, "first");
        ask.after |= !strcmp(*word, "after");
        ask.pause |= !strcmp(*word, "pause");
        ask.pauses |= !strcmp(*word, "pauses");
        ask.fields |= !strcmp(*word, "fields");
        ask.session |= !strcmp(*word, "session");
        ask.sessions |= !strcmp(*word, "sessions");
        if (!strncmp(*word, "rank=", 5))
            ask.rank = atoi(*word + 5);
        if (!strncmp(*word, "ranks=", 6))
            ask.ranks = *word + 6;
        if (!strncmp(*word, "only=", 5))
            ask.only = atoi(*word + 5);
        const char *keys[] = {"stop=", "daemon=", "push=", "die=", "cut=", "ends=", "tells=", "logs="},
                   **values[] = {&ask.stop, &ask.daemon, &ask.push,  &ask.die,
                                 &ask.cut,  &ask.ends,   &ask.tells, &ask.logs};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (!strncmp(*word, keys[i], strlen(keys[i])))
                *values[i] = *word + strlen(keys[i]);
    }
    if (!*word || !word[1])
        exit(2);
    return word + 1;
}

int main(int argc, char **argv) {
    (void)argc;
    char **launcher_words = read_words(argv + 1);
    watch(60);
    me.rank = 0;
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_LAUNCHER, &yes, PMIX_BOOL);
    must(PMIx_tool_init(&me.proc, info, 2));
    me.low_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION, ready = PMIX_READY_FOR_DEBUG, end = PMIX_EVENT_JOB_END,
                  bad = PMIX_ERR_EXIT_NONZERO_TERM, launcher_ready = PMIX_LAUNCHER_READY,
                  job[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE}, gone = PMIX_EVENT_PROC_TERMINATED,
                  session[] = {PMIX_EVENT_SESSION_START, PMIX_EVENT_SESSION_END};
    register_nb(&lost, 1, on_lost);
    pmix_proc_t launcher = start_launcher(launcher_words, launch_directives(), ask.nohup, true);
    connect_to(&launcher);
    register_nb(&launcher_ready, 1, on_launcher);
    register_nb(job, 2, on_job);
    register_nb(&ready, 1, on_ready);
    register_nb(&end, 1, on_end);
    register_nb(&bad, 1, on_bad);
    if (ask.tells)
        register_nb(&gone, 1, on_gone);
    if (ask.session || ask.sessions)
        register_nb(session, 2, on_session);
    wait_for_count(&heard.ready_launcher, 1, "PMIX_LAUNCHER_READY");
    say("launcher ready");
    if (ask.early) {
        pmix_info_t *results = NULL;
        size_t count = 0;
        say("early %s", status_name(query("nobody", &results, &count)));
    }
    dies("held");
    is_cut("held");
    if (ask.leave) {
        must(PMIx_tool_finalize());
        say("ok 0");
        return 0;
    }
    if (ask.pause) {
        close(open("held", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        await_go();
    }
    end_held(&launcher);
    if (ask.session)
        wait_for_count(&heard.session_began, 1, "PMIX_EVENT_SESSION_START");
    release(&launcher);
    if (ask.die && !strcmp(ask.die, "waits"))
        await_go();
    dies("waits");
    if (ask.first) {
        wait_for_count(&heard.start, 1, "PMIX_EVENT_JOB_START");
        say(heard.launched ? "first, and all" : "first");
        close(open("started", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
    if (strcmp(ask.stop, "no")) {
        wait_for_count(&heard.stopped, 1, "PMIX_READY_FOR_DEBUG");
        say("stops at %s", heard.place);
        is_cut("stops");
    }
    wait_for_count(&heard.launched, 1, "PMIX_LAUNCH_COMPLETE");
    say("job %s", heard.job);
    say(heard.start == 1 && heard.launched == 1 ? "runs" : "runs, told wrongly");
    dies(strcmp(ask.stop, "no") ? "stops" : "runs");
    is_cut("runs");
    if (!ask.first) /* else they may have ended */
        print_table(heard.job, ask.rank < 0 && !ask.ranks);
    if (ask.daemon)
        start_daemons();
    if (ask.after)
        wait_for_count(&heard.daemons_ended, 1, "the end of the daemons");
    dies("left");
    if (ask.pauses) {
        pmix_proc_t all = process(heard.job, PMIX_RANK_WILDCARD);
        control(&all, PMIX_JOB_CTRL_PAUSE);
    }
    if (ask.kill)
        control(&launcher, PMIX_JOB_CTRL_KILL);
    else if ((ask.after || !ask.daemon) && strcmp(ask.stop, "no")) {
        pmix_proc_t whom = process(heard.job, ask.only < 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)ask.only);
        if (ask.resume)
            control(&whom, PMIX_JOB_CTRL_RESUME);
        else
            release(&whom);
    }
    if (ask.die && !strcmp(ask.die, "gone")) { /* what is answered now was heard behind it */
        pmix_info_t *results = NULL;
        size_t count = 0;
        query(heard.job, &results, &count);
    }
    dies("gone");
    if (ask.bad)
        wait_for_count(&heard.bad, 1, "a bad end");
    if (ask.push)
        push(launcher.nspace, ask.push);
    wait_for_count(&heard.ended, 1, "PMIX_EVENT_JOB_END");
    if (heard.first >= 0)
        say("end %d of %d", heard.code, heard.first);
    else
        say("end %d", heard.code);
    if (ask.fields)
        say("fields%s", heard.fields);
    if (ask.tells)
        print_gone();
    if (ask.session) {
        wait_for_count(&heard.session_ended, 1, "PMIX_EVENT_SESSION_END");
        say("session ended");
    }
    wait_for_count(&heard.lost, 1, "the end of the launcher");
    say("launcher gone");
    if (ask.sessions)
        say("sessions %u", heard.session_began + heard.session_ended);
    must(PMIx_tool_finalize());
    say("ok 0");
    return 0;
}
