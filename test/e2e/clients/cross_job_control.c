/* PMIx_Job_control of processes in other jobs: of a job that was spawned, of its parent, and of other
 * steps of the allocation. Who is controlled says by a file in $CLIENT_DIR, which all hosts see, that it
 * listens, and goes on when it gets SIGUSR2.
 * usage: cross_job_control WHAT            spawns twice as many ranks of "cross_job_control child WHAT" as it has:
 *          signal      the child job's ranks get signals, all and some, with one of the own job
 *          refused     what makes no sense: nobody gets a signal
 *          pause       a rank of the child job stands still, and goes on after a resume
 *          everyone    both jobs get a signal
 *          checkpoint  some of both jobs get the event of a checkpoint, and say when they have made it;
 *                      then the child job gets the signal of another one
 *          terminate   a rank of the child job terminates one of its parent's
 *          kill        the child job is killed; the parent lives on, and hears of it
 *        cross_job_control listen NAME     waits as a job of its own, called NAME
 *        cross_job_control to NAME         signals all of it, its last rank, and then everyone
 *        cross_job_control none NAME       finds that the job NAME has ended
 *        cross_job_control timeout         a job that may still come is waited for as long as PMIX_TIMEOUT says
 *        cross_job_control all N           once N ranks listen, SIGUSR2 to everyone, itself included */
#include "control.h"
#include "events.h"
#include "peers.h"

enum { REAL_TIME = 40 };
static void listen_to_signals(void) {
    const int numbers[] = {SIGUSR1, SIGUSR2, SIGTERM, REAL_TIME};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        catch (numbers[i]);
}

static pmix_status_t signal_everyone(const pmix_proc_t *targets, size_t n, int number) {
    pmix_info_t info[2];
    pmix_data_range_t range = PMIX_RANGE_SESSION;
    PMIX_INFO_LOAD(&info[0], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    return ask(targets, n, info, 2);
}

/* --- what is heard ------------------------------------------------------------------------------*/

static int exit_code = -1;
static unsigned ends, checkpoints, completed;

static void note_end(const struct event *end) {
    const pmix_value_t *code = carried(end, PMIX_EXIT_CODE, PMIX_INT);
    if (code) {
        exit_code = code->data.integer;
        ends++;
    }
}
EVENT_HANDLER(on_end, note_end, PMIX_SUCCESS)

/* The checkpoint is made as soon as it is asked for. */
static void note_checkpoint(const struct event *event) {
    const pmix_value_t *name = carried(event, PMIX_JOB_CTRL_CHECKPOINT, PMIX_STRING);
    pmix_info_t range;
    PMIX_INFO_LOAD(&range, PMIX_EVENT_CUSTOM_RANGE, event->source, PMIX_PROC);
    if (!name || strcmp(name->data.string, "night") || event->source->rank != 0)
        note_wrong("checkpoint '%s' of %s:%u", name ? name->data.string : "", event->source->nspace,
                   event->source->rank);
    checkpoints++;
    PMIx_Notify_event(PMIX_JCTRL_CHECKPOINT_COMPLETE, &me.proc, PMIX_RANGE_CUSTOM, &range, 1, NULL, NULL);
}
EVENT_HANDLER(on_checkpoint, note_checkpoint, PMIX_SUCCESS)

static void note_complete(const struct event *event) {
    (void)event;
    completed++;
}
EVENT_HANDLER(on_complete, note_complete, PMIX_SUCCESS)

static void wait_for_the_end_of_the_child(void) {
    wait_for_count(&ends, 1, "waiting for the end of the child job");
    if (exit_code != 137)
        fail("the child job ended with %d, not 137", exit_code);
}

static void spawn(const char *what, uint32_t size, pmix_nspace_t nspace) {
    char word[] = "child", *argv[] = {NULL, word, strdup(what), NULL};
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    spawn_self(argv, size, info, 2, nspace);
}

/* --- the parts ----------------------------------------------------------------------------------*/

static void refused(const char *child, uint32_t size) {
    pmix_proc_t two[2] = {process(child, 0), process(child, size)};
    expect("a rank too many of another job", ask_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
    two[1] = process(me.proc.nspace, me.size);
    expect("a rank too many of the own one", ask_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
    two[1] = process("nobody's namespace", PMIX_RANK_WILDCARD);
    expect("nobody's namespace", ask_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
    expect("the same alone", ask_signal(two + 1, 1, SIGKILL), PMIX_ERR_NOT_FOUND);
    expect("the same from the whole job", ask_flag(two, 2, PMIX_JOB_CTRL_KILL), PMIX_ERR_NOT_FOUND);
    expect("signal 0", ask_signal(two, 1, 0), PMIX_ERR_BAD_PARAM);
    expect("signal 65", ask_signal(two, 1, 65), PMIX_ERR_BAD_PARAM);
    expect("everyone and some", signal_everyone(two, 1, SIGUSR1), PMIX_ERR_BAD_PARAM);
    pmix_info_t infos[2];
    int number = SIGUSR1;
    PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_RESTART, "x", PMIX_STRING);
    PMIX_INFO_REQUIRED(&infos[1]);
    expect("a required restart beside it", ask(two, 1, infos, 2), PMIX_ERR_NOT_SUPPORTED);
}

static void checkpoint(const char *child, uint32_t size) {
    pmix_proc_t some[] = {process(child, 0), process(child, size - 1), process(me.proc.nspace, me.size - 1)};
    pmix_info_t info[2];
    int number = REAL_TIME;
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_CTRL_CHECKPOINT, "night", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_CHECKPOINT_EVENT, NULL, PMIX_BOOL);
    expect("a checkpoint by an event", ask(some, 3, info, 2), PMIX_SUCCESS);
    wait_for_count(&completed, 3, "waiting for PMIX_JCTRL_CHECKPOINT_COMPLETE");
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, &number, PMIX_INT);
    pmix_proc_t all = process(child, PMIX_RANK_WILDCARD);
    expect("a checkpoint by a signal", ask(&all, 1, info, 2), PMIX_SUCCESS);
}

static void parent(const char *what) {
    uint32_t size = 2 * me.size, last = me.size - 1;
    pmix_nspace_t child;
    listen_to_signals();
    pmix_status_t end = PMIX_EVENT_JOB_END, asked = PMIX_JCTRL_CHECKPOINT, made = PMIX_JCTRL_CHECKPOINT_COMPLETE;
    register_for(&end, 1, on_end);
    register_for(&asked, 1, on_checkpoint);
    register_for(&made, 1, on_complete);
    fence();
    if (me.rank == 0) {
        spawn(what, size, child);
        for (uint32_t rank = 0; rank < size; rank++)
            wait_to_be_told("child", rank, NULL);
        pmix_proc_t all = process(child, PMIX_RANK_WILDCARD);
        if (!strcmp(what, "signal")) {
            pmix_proc_t some[] = {process(child, size - 1), process(child, 0), process(me.proc.nspace, last)};
            expect("SIGUSR1 to all", ask_signal(&all, 1, SIGUSR1), PMIX_SUCCESS);
            expect("a signal to some of both jobs", ask_signal(some, 3, REAL_TIME), PMIX_SUCCESS);
        } else if (!strcmp(what, "refused")) {
            refused(child, size);
        } else if (!strcmp(what, "pause")) {
            pmix_proc_t one = process(child, size - 1);
            pause_and_resume(&one, path_of("ticks", 0));
        } else if (!strcmp(what, "everyone")) {
            expect("a signal to everyone", signal_everyone(NULL, 0, REAL_TIME), PMIX_SUCCESS);
        } else if (!strcmp(what, "checkpoint")) {
            checkpoint(child, size);
        } else if (!strcmp(what, "kill")) {
            expect("kill", ask_flag(&all, 1, PMIX_JOB_CTRL_KILL), PMIX_SUCCESS);
            wait_for_the_end_of_the_child();
            expect("the killed job", ask_signal(&all, 1, SIGCONT), PMIX_ERR_NOT_FOUND);
            pmix_proc_t two[] = {all, me.proc};
            expect("the killed job and a living process", ask_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
        }
        if (!strcmp(what, "refused") && caught[SIGUSR1])
            fail("was signalled");
        if (strcmp(what, "kill") && strcmp(what, "terminate"))
            expect("SIGUSR2 to all", ask_signal(&all, 1, SIGUSR2), PMIX_SUCCESS);
    }
    if (!strcmp(what, "signal") && me.rank == last)
        wait_for_signal(REAL_TIME);
    if (!strcmp(what, "everyone"))
        wait_for_signal(REAL_TIME);
    if (!strcmp(what, "terminate") && me.rank == last)
        wait_for_signal(SIGTERM);
    fence();
    if (caught[SIGUSR1] || caught[SIGUSR2])
        fail("was signalled as well");
    if (wrong[0] || checkpoints != (!strcmp(what, "checkpoint") && me.rank == last))
        fail("%u checkpoints; %s", checkpoints, wrong);
    if (!strcmp(what, "signal") && me.rank != last && caught[REAL_TIME])
        fail("was signalled with the last rank");
}

static void child(const char *what) {
    uint32_t last = me.size - 1;
    listen_to_signals();
    pmix_status_t asked = PMIX_JCTRL_CHECKPOINT;
    register_for(&asked, 1, on_checkpoint);
    tell_by_file("child", me.rank);
    if (!strcmp(what, "terminate")) {
        pmix_value_t *value;
        if (!get(PMIX_RANK_WILDCARD, PMIX_PARENT_ID, &value) && !get(me.rank, PMIX_PARENT_ID, &value))
            fail("no PMIX_PARENT_ID");
        pmix_proc_t who = *value->data.proc;
        who.rank = (me.size / 2) - 1;
        if (me.rank == last)
            expect("terminate", ask_flag(&who, 1, PMIX_JOB_CTRL_TERMINATE), PMIX_SUCCESS);
        return;
    }
    me.doing = "waiting for SIGUSR2";
    while (!caught[SIGUSR2])
        if (!strcmp(what, "pause") && me.rank == last)
            tick(path_of("ticks", 0));
        else
            rest();
    bool usr1 = !strcmp(what, "signal"), ends = me.rank == 0 || me.rank == last, by_event = !strcmp(what, "checkpoint"),
         real_time = !strcmp(what, "everyone") || by_event || (usr1 && ends);
    if (caught[SIGUSR1] != usr1 || caught[REAL_TIME] != real_time || caught[SIGUSR2] != 1 || caught[SIGTERM])
        fail("caught SIGUSR1 %d times, SIGUSR2 %d, SIGTERM %d, the real-time signal %d", (int)caught[SIGUSR1],
             (int)caught[SIGUSR2], (int)caught[SIGTERM], (int)caught[REAL_TIME]);
    if (wrong[0] || checkpoints != (by_event && ends))
        fail("%u checkpoints; %s", checkpoints, wrong);
}

static void to(const char *name) {
    pmix_nspace_t nspace;
    listen_to_signals();
    wait_to_be_told(name, 0, nspace);
    fence();
    if (me.rank == 0) {
        pmix_proc_t who = process(nspace, PMIX_RANK_WILDCARD);
        expect("SIGUSR1 to all", ask_signal(&who, 1, SIGUSR1), PMIX_SUCCESS);
        who.rank = 1;
        expect("a signal to one", ask_signal(&who, 1, REAL_TIME), PMIX_SUCCESS);
        expect("SIGUSR2 to everyone", signal_everyone(NULL, 0, SIGUSR2), PMIX_SUCCESS);
    }
    wait_for_signal(SIGUSR2);
    if (caught[SIGUSR1] || caught[REAL_TIME])
        fail("was signalled as well");
    fence();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    begin(120);
    if (!strcmp(what, "child") && argc == 3) {
        child(argv[2]);
    } else if (!strcmp(what, "listen") && argc == 3) {
        listen_to_signals();
        fence();
        tell_by_file(argv[2], me.rank);
        wait_for_signal(SIGUSR2);
        if (!strcmp(argv[2], "B") && (!caught[SIGUSR1] || caught[REAL_TIME] != (me.rank == 1)))
            fail("caught SIGUSR1 %d times, the real-time signal %d", (int)caught[SIGUSR1], (int)caught[REAL_TIME]);
        fence();
    } else if (!strcmp(what, "to") && argc == 3) {
        to(argv[2]);
    } else if (!strcmp(what, "none") && argc == 3) {
        pmix_nspace_t nspace;
        wait_to_be_told(argv[2], 0, nspace);
        pmix_proc_t two[] = {process(nspace, 0), me.proc};
        expect("a job that has ended", ask_signal(two, 2, SIGKILL), PMIX_ERR_NOT_FOUND);
    } else if (!strcmp(what, "timeout")) {
        pmix_proc_t two[] = {process("a job to come", 0), me.proc};
        pmix_info_t infos[2];
        int number = SIGKILL, seconds = 1;
        PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
        PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
        expect("a job to come", ask(two, 2, infos, 2), PMIX_ERR_TIMEOUT);
    } else if (!strcmp(what, "all") && argc == 3) {
        listen_to_signals();
        fence();
        if (me.rank == 0) {
            for (int rank = 0; rank < atoi(argv[2]); rank++)
                wait_to_be_told("C", (uint32_t)rank, NULL);
            expect("SIGUSR2 to everyone", signal_everyone(NULL, 0, SIGUSR2), PMIX_SUCCESS);
        }
        wait_for_signal(SIGUSR2);
        fence();
    } else {
        parent(what);
    }
    pass();
}
