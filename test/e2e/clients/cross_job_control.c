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
#include "client.h"

#include <pthread.h>

enum { REAL_TIME = 40 };
static volatile sig_atomic_t caught[65];
static void on_signal(int number) {
    caught[number]++;
}

static void rest(void) {
    struct timespec t = {.tv_nsec = 2000000};
    nanosleep(&t, NULL);
}

static void listen_to_signals(void) {
    const int numbers[] = {SIGUSR1, SIGUSR2, SIGTERM, REAL_TIME};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], &action, NULL))
            fail("sigaction(%d): %s", numbers[i], strerror(errno));
}

static void wait_for_signal(int number) {
    me.doing = number == SIGUSR2 ? "waiting for SIGUSR2" : "waiting for a signal";
    while (!caught[number])
        rest();
}

static const char *path_of(const char *what, uint32_t rank) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s.%u", getenv("CLIENT_DIR") ? getenv("CLIENT_DIR") : ".", what, rank);
    return path;
}

/* Into place at once: whoever sees the file finds its content. */
static void tell_by_file(const char *what, uint32_t rank) {
    char part[4096];
    snprintf(part, sizeof part, "%s.part", path_of(what, rank));
    FILE *file = fopen(part, "w");
    if (!file || fputs(me.proc.nspace, file) < 0 || fclose(file) || rename(part, path_of(what, rank)))
        fail("%s: %s", part, strerror(errno));
}

static void wait_for_file(const char *what, uint32_t rank, char *nspace) {
    me.doing = "waiting for a file of another process";
    while (access(path_of(what, rank), F_OK))
        rest();
    FILE *file = fopen(path_of(what, rank), "r");
    if (nspace && (!file || !fgets(nspace, PMIX_MAX_NSLEN, file)))
        fail("%s: %s", path_of(what, rank), strerror(errno));
    if (file)
        fclose(file);
}

/* --- asking -------------------------------------------------------------------------------------*/

static void expect(const char *what, pmix_status_t got, pmix_status_t wanted) {
    if (got != wanted)
        fail("%s: %s, not %s", what, PMIx_Error_string(got), PMIx_Error_string(wanted));
}

static pmix_status_t ask(const pmix_proc_t *targets, size_t n, const pmix_info_t *infos, size_t ninfos) {
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    me.doing = "PMIx_Job_control";
    return PMIx_Job_control(targets, n, infos, ninfos, &results, &nresults);
}

static pmix_status_t send_signal(const pmix_proc_t *targets, size_t n, int number) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    return ask(targets, n, &info, 1);
}

static pmix_status_t send_flag(const pmix_proc_t *targets, size_t n, const char *key) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
    return ask(targets, n, &info, 1);
}

static pmix_status_t signal_everyone(const pmix_proc_t *targets, size_t n, int number) {
    pmix_info_t info[2];
    pmix_data_range_t range = PMIX_RANGE_SESSION;
    PMIX_INFO_LOAD(&info[0], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    return ask(targets, n, info, 2);
}

static pmix_proc_t process(const char *nspace, uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    return proc;
}

/* --- the end of the child job ------------------------------------------------------------------*/

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int exit_code = -1;
static unsigned checkpoints, completed;
static char wrong[1024];

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            exit_code = info[i].value.data.integer;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

/* The checkpoint is made as soon as it is asked for. */
static void on_checkpoint(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                          pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                          void *cbdata) {
    (void)id, (void)status, (void)results, (void)nresults;
    const char *name = "";
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_CTRL_CHECKPOINT) && info[i].value.type == PMIX_STRING)
            name = info[i].value.data.string;
    pmix_info_t range;
    PMIX_INFO_LOAD(&range, PMIX_EVENT_CUSTOM_RANGE, source, PMIX_PROC);
    if (strcmp(name, "night") || source->rank != 0)
        snprintf(wrong, sizeof wrong, "checkpoint '%s' of %s:%u", name, source->nspace, source->rank);
    pthread_mutex_lock(&lock);
    checkpoints++;
    pthread_mutex_unlock(&lock);
    PMIx_Notify_event(PMIX_JCTRL_CHECKPOINT_COMPLETE, &me.proc, PMIX_RANGE_CUSTOM, &range, 1, NULL, NULL);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void on_complete(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                        pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    completed++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void register_for(pmix_status_t code, pmix_notification_fn_t handler) {
    me.doing = "PMIx_Register_event_handler";
    pmix_status_t rc = PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL);
    if (rc < 0)
        fail("PMIx_Register_event_handler: %s", PMIx_Error_string(rc));
}

static void wait_for_the_end_of_the_child(void) {
    me.doing = "waiting for the end of the child job";
    pthread_mutex_lock(&lock);
    while (exit_code < 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (exit_code != 137)
        fail("the child job ended with %d, not 137", exit_code);
}

static void spawn(const char *what, uint32_t size, pmix_nspace_t nspace) {
    char self[4096], name[] = "cross_job_control", word[] = "child", *argv[] = {name, word, strdup(what), NULL};
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = self;
    app.argv = argv;
    app.maxprocs = (int)size;
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    must(PMIx_Spawn(info, 2, &app, 1, nspace));
}

/* --- the parts ----------------------------------------------------------------------------------*/

static void refused(const char *child, uint32_t size) {
    pmix_proc_t two[2] = {process(child, 0), process(child, size)};
    expect("a rank too many of another job", send_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
    two[1] = process(me.proc.nspace, me.size);
    expect("a rank too many of the own one", send_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
    two[1] = process("nobody's namespace", PMIX_RANK_WILDCARD);
    expect("nobody's namespace", send_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
    expect("the same alone", send_signal(two + 1, 1, SIGKILL), PMIX_ERR_NOT_FOUND);
    expect("the same from the whole job", send_flag(two, 2, PMIX_JOB_CTRL_KILL), PMIX_ERR_NOT_FOUND);
    expect("signal 0", send_signal(two, 1, 0), PMIX_ERR_BAD_PARAM);
    expect("signal 65", send_signal(two, 1, 65), PMIX_ERR_BAD_PARAM);
    expect("everyone and some", signal_everyone(two, 1, SIGUSR1), PMIX_ERR_BAD_PARAM);
    pmix_info_t infos[2];
    int number = SIGUSR1;
    PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_RESTART, "x", PMIX_STRING);
    PMIX_INFO_REQUIRED(&infos[1]);
    expect("a required restart beside it", ask(two, 1, infos, 2), PMIX_ERR_NOT_SUPPORTED);
}

static off_t ticks(void) {
    int fd = open(path_of("ticks", 0), O_RDONLY);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (fd >= 0)
        close(fd);
    return size;
}

static void pause_and_resume(const char *child, uint32_t size) {
    pmix_proc_t last = process(child, size - 1);
    off_t at;
    me.doing = "waiting for ticks";
    while (ticks() < 5)
        rest();
    expect("pause", send_flag(&last, 1, PMIX_JOB_CTRL_PAUSE), PMIX_SUCCESS);
    do { /* a stop takes effect a moment after kill(2) has returned */
        at = ticks();
        for (int i = 0; i < 100; i++)
            rest();
    } while (ticks() != at);
    expect("resume", send_flag(&last, 1, PMIX_JOB_CTRL_RESUME), PMIX_SUCCESS);
    me.doing = "waiting for ticks after the resume";
    while (ticks() < at + 5)
        rest();
}

static void checkpoint(const char *child, uint32_t size) {
    pmix_proc_t some[] = {process(child, 0), process(child, size - 1), process(me.proc.nspace, me.size - 1)};
    pmix_info_t info[2];
    int number = REAL_TIME;
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_CTRL_CHECKPOINT, "night", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_CHECKPOINT_EVENT, NULL, PMIX_BOOL);
    expect("a checkpoint by an event", ask(some, 3, info, 2), PMIX_SUCCESS);
    me.doing = "waiting for PMIX_JCTRL_CHECKPOINT_COMPLETE";
    pthread_mutex_lock(&lock);
    while (completed < 3)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, &number, PMIX_INT);
    pmix_proc_t all = process(child, PMIX_RANK_WILDCARD);
    expect("a checkpoint by a signal", ask(&all, 1, info, 2), PMIX_SUCCESS);
}

static void parent(const char *what) {
    uint32_t size = 2 * me.size, last = me.size - 1;
    pmix_nspace_t child;
    listen_to_signals();
    register_for(PMIX_EVENT_JOB_END, on_end);
    register_for(PMIX_JCTRL_CHECKPOINT, on_checkpoint);
    register_for(PMIX_JCTRL_CHECKPOINT_COMPLETE, on_complete);
    fence();
    if (me.rank == 0) {
        spawn(what, size, child);
        for (uint32_t rank = 0; rank < size; rank++)
            wait_for_file("child", rank, NULL);
        pmix_proc_t all = process(child, PMIX_RANK_WILDCARD);
        if (!strcmp(what, "signal")) {
            pmix_proc_t some[] = {process(child, size - 1), process(child, 0), process(me.proc.nspace, last)};
            expect("SIGUSR1 to all", send_signal(&all, 1, SIGUSR1), PMIX_SUCCESS);
            expect("a signal to some of both jobs", send_signal(some, 3, REAL_TIME), PMIX_SUCCESS);
        } else if (!strcmp(what, "refused")) {
            refused(child, size);
        } else if (!strcmp(what, "pause")) {
            pause_and_resume(child, size);
        } else if (!strcmp(what, "everyone")) {
            expect("a signal to everyone", signal_everyone(NULL, 0, REAL_TIME), PMIX_SUCCESS);
        } else if (!strcmp(what, "checkpoint")) {
            checkpoint(child, size);
        } else if (!strcmp(what, "kill")) {
            expect("kill", send_flag(&all, 1, PMIX_JOB_CTRL_KILL), PMIX_SUCCESS);
            wait_for_the_end_of_the_child();
            expect("the killed job", send_signal(&all, 1, SIGCONT), PMIX_ERR_NOT_FOUND);
            pmix_proc_t two[] = {all, me.proc};
            expect("the killed job and a living process", send_signal(two, 2, SIGUSR1), PMIX_ERR_NOT_FOUND);
        }
        if (!strcmp(what, "refused") && caught[SIGUSR1])
            fail("was signalled");
        if (strcmp(what, "kill") && strcmp(what, "terminate"))
            expect("SIGUSR2 to all", send_signal(&all, 1, SIGUSR2), PMIX_SUCCESS);
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
    register_for(PMIX_JCTRL_CHECKPOINT, on_checkpoint);
    tell_by_file("child", me.rank);
    if (!strcmp(what, "terminate")) {
        pmix_value_t *value;
        if (!get(PMIX_RANK_WILDCARD, PMIX_PARENT_ID, &value) && !get(me.rank, PMIX_PARENT_ID, &value))
            fail("no PMIX_PARENT_ID");
        pmix_proc_t who = *value->data.proc;
        who.rank = (me.size / 2) - 1;
        if (me.rank == last)
            expect("terminate", send_flag(&who, 1, PMIX_JOB_CTRL_TERMINATE), PMIX_SUCCESS);
        return;
    }
    int fd =
        !strcmp(what, "pause") && me.rank == last ? open(path_of("ticks", 0), O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    me.doing = "waiting for SIGUSR2";
    while (!caught[SIGUSR2]) {
        if (fd >= 0 && write(fd, ".", 1) != 1)
            fail("write: %s", strerror(errno));
        rest();
    }
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
    wait_for_file(name, 0, nspace);
    fence();
    if (me.rank == 0) {
        pmix_proc_t who = process(nspace, PMIX_RANK_WILDCARD);
        expect("SIGUSR1 to all", send_signal(&who, 1, SIGUSR1), PMIX_SUCCESS);
        who.rank = 1;
        expect("a signal to one", send_signal(&who, 1, REAL_TIME), PMIX_SUCCESS);
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
        wait_for_file(argv[2], 0, nspace);
        pmix_proc_t two[] = {process(nspace, 0), me.proc};
        expect("a job that has ended", send_signal(two, 2, SIGKILL), PMIX_ERR_NOT_FOUND);
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
                wait_for_file("C", (uint32_t)rank, NULL);
            expect("SIGUSR2 to everyone", signal_everyone(NULL, 0, SIGUSR2), PMIX_SUCCESS);
        }
        wait_for_signal(SIGUSR2);
        fence();
    } else {
        parent(what);
    }
    pass();
}
