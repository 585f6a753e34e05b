/* PMIx_Job_control, asked by rank 0 unless said otherwise. The victims write what befell them into
 * files of $CLIENT_DIR, which all hosts see.
 * usage: control signal NUMBER TARGET ...   TARGET (a rank, or "all") gets the signal; then all fence
 *        control end kill|terminate RANK ...  these ranks end so, the others go on
 *        control whole kill|terminate       the job ends so, by targets NULL
 *        control pause RANK                 it stands still, and goes on after a resume
 *        control refused                    what is not there or not offered
 *        control declared                   what may be done to the job, which changes nothing now
 *        control checkpoint                 all of the job get the event, rank 0 too
 *        control several NUMBER RANK        two signals in one call
 *        control cleanup FILE               the library removes FILE at the end */
#include "client.h"

#include <limits.h>

static volatile sig_atomic_t caught[65];
static void on_signal(int number) {
    caught[number]++;
}

static void catch (int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (sigaction(number, &action, NULL))
        fail("sigaction(%d): %s", number, strerror(errno));
}

static void rest(void) {
    struct timespec t = {.tv_nsec = 2000000};
    nanosleep(&t, NULL);
}

static void wait_for(int number) {
    me.doing = "waiting for a signal";
    while (!caught[number])
        rest();
}

static pmix_status_t ask(const pmix_proc_t *targets, size_t n, pmix_info_t *infos, size_t ninfos) {
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    me.doing = "PMIx_Job_control";
    return PMIx_Job_control(targets, n, infos, ninfos, &results, &nresults);
}

static pmix_status_t ask_flag(const pmix_proc_t *targets, size_t n, const char *key) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
    return ask(targets, n, &info, 1);
}

static pmix_status_t ask_number(const pmix_proc_t *targets, size_t n, const char *key, int number) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, &number, PMIX_INT);
    return ask(targets, n, &info, 1);
}

static void expect(const char *what, pmix_status_t got, pmix_status_t wanted) {
    if (got != wanted)
        fail("%s: %s, not %s", what, PMIx_Error_string(got), PMIx_Error_string(wanted));
}

static pmix_proc_t targets[1024];
static size_t ntargets;
static bool targeted;

static void read_targets(char **argv, int n) {
    for (int i = 0; i < n && ntargets < 1024; i++, ntargets++) {
        targets[ntargets] = me.proc;
        targets[ntargets].rank = strcmp(argv[i], "all") ? (uint32_t)atoi(argv[i]) : PMIX_RANK_WILDCARD;
        targeted = targeted || targets[ntargets].rank == me.rank || targets[ntargets].rank == PMIX_RANK_WILDCARD;
    }
}

/* Those who are left, in a fence. */
static void fence_without_targets(void) {
    pmix_proc_t *left = calloc(me.size, sizeof(*left));
    size_t n = 0;
    for (uint32_t rank = 0; rank < me.size; rank++) {
        bool out = false;
        for (size_t i = 0; i < ntargets; i++)
            out = out || targets[i].rank == rank;
        if (!out) {
            left[n] = me.proc;
            left[n++].rank = rank;
        }
    }
    pmix_status_t rc = fence_with(left, n, 0, 20);
    expect("the fence of those who are left", rc, PMIX_SUCCESS);
}

static void wait_for_the_end(void) {
    me.doing = "waiting to be ended";
    for (;;)
        pause();
}

static void pause_and_resume(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/ticks", getenv("CLIENT_DIR"));
    uint32_t victim = targets[0].rank;
    if (me.rank == victim) {
        int fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0644);
        if (fd < 0)
            fail("%s: %s", path, strerror(errno));
        catch (SIGUSR1);
        fence();
        while (!caught[SIGUSR1]) {
            if (write(fd, ".", 1) != 1)
                fail("write: %s", strerror(errno));
            rest();
        }
        fence();
        return;
    }
    fence();
    if (me.rank == 0) {
        int fd = open(path, O_RDONLY);
        off_t at = 0;
        while (lseek(fd, 0, SEEK_END) < 5)
            rest();
        expect("pause", ask_flag(targets, 1, PMIX_JOB_CTRL_PAUSE), PMIX_SUCCESS);
        /* A stop takes effect a moment after kill(2) has returned. */
        do {
            at = lseek(fd, 0, SEEK_END);
            for (int i = 0; i < 100; i++)
                rest();
        } while (lseek(fd, 0, SEEK_END) != at);
        expect("resume", ask_flag(targets, 1, PMIX_JOB_CTRL_RESUME), PMIX_SUCCESS);
        while (lseek(fd, 0, SEEK_END) < at + 5)
            rest();
        expect("SIGUSR1", ask_number(targets, 1, PMIX_JOB_CTRL_SIGNAL, SIGUSR1), PMIX_SUCCESS);
    }
    fence();
}

static void refused(void) {
    if (me.rank == 0) {
        pmix_proc_t who = me.proc;
        pmix_info_t infos[3];
        int number = SIGUSR1;
        who.rank = me.size;
        expect("a rank too many", ask_number(&who, 1, PMIX_JOB_CTRL_SIGNAL, SIGUSR1), PMIX_ERR_NOT_FOUND);
        PMIX_LOAD_PROCID(&who, "nobody's namespace", 0);
        expect("another namespace", ask_number(&who, 1, PMIX_JOB_CTRL_SIGNAL, SIGUSR1), PMIX_ERR_NOT_FOUND);
        pmix_proc_t two[2] = {me.proc, me.proc};
        two[1].rank = me.size + 7;
        expect("one of two is not there", ask_number(two, 2, PMIX_JOB_CTRL_SIGNAL, SIGKILL), PMIX_ERR_NOT_FOUND);
        expect("signal 0", ask_number(&me.proc, 1, PMIX_JOB_CTRL_SIGNAL, 0), PMIX_ERR_BAD_PARAM);
        expect("signal 65", ask_number(&me.proc, 1, PMIX_JOB_CTRL_SIGNAL, 65), PMIX_ERR_BAD_PARAM);
        expect("signal -9", ask_number(&me.proc, 1, PMIX_JOB_CTRL_SIGNAL, -9), PMIX_ERR_BAD_PARAM);
        const char *keys[] = {PMIX_JOB_CTRL_RESTART, PMIX_JOB_CTRL_CHECKPOINT, PMIX_JOB_CTRL_PROVISION,
                              PMIX_JOB_CTRL_CANCEL, "test.unknown"};
        for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
            PMIX_INFO_LOAD(&infos[0], keys[i], "x", PMIX_STRING);
            expect(keys[i], ask(NULL, 0, infos, 1), PMIX_ERR_NOT_SUPPORTED);
            PMIX_INFO_REQUIRED(&infos[0]);
            int deadly = SIGKILL; /* not done, as the other is refused */
            PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_SIGNAL, &deadly, PMIX_INT);
            expect("a required one beside a kill", ask(NULL, 0, infos, 2), PMIX_ERR_NOT_SUPPORTED);
        }
        int none = 0, deadly = SIGKILL;
        bool yes = true, no = false;
        PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_PREEMPTIBLE, &no, PMIX_BOOL);
        expect("not to be preempted", ask(NULL, 0, infos, 1), PMIX_ERR_NOT_SUPPORTED);
        PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_CHECKPOINT, "x", PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, &none, PMIX_INT);
        expect("a checkpoint by signal 0", ask(NULL, 0, infos, 2), PMIX_ERR_BAD_PARAM);
        PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_CHECKPOINT_EVENT, &yes, PMIX_BOOL);
        expect("a checkpoint without an id", ask(NULL, 0, infos + 1, 1), PMIX_ERR_BAD_PARAM);
        expect("a checkpoint without a listener", ask(NULL, 0, infos, 2), PMIX_SUCCESS);
        PMIX_INFO_LOAD(&infos[2], PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT, &deadly, PMIX_INT);
        expect("a timeout, which has the signal's key", ask(NULL, 0, infos, 3), PMIX_SUCCESS);
        PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, &deadly, PMIX_INT);
        expect("which of both?", ask(NULL, 0, infos, 3), PMIX_ERR_BAD_PARAM);
        catch (SIGUSR1);
        PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_CHECKPOINT, "x", PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
        expect("an optional one beside a signal", ask(&me.proc, 1, infos, 2), PMIX_SUCCESS);
        wait_for(SIGUSR1);
    }
    fence();
}

/* What only declares is accepted; nothing is done. */
static void declared(void) {
    pmix_info_t infos[2];
    pmix_proc_t who = me.proc;
    bool yes = true;
    int signal = SIGUSR1;
    PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_PREEMPTIBLE, &yes, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&infos[0]);
    expect("preemptible", ask(NULL, 0, infos, 1), PMIX_SUCCESS);
    expect("preemptible, this rank", ask(&who, 1, infos, 1), PMIX_SUCCESS);
    who.rank = me.size;
    expect("preemptible, a rank too many", ask(&who, 1, infos, 1), PMIX_ERR_NOT_FOUND);
    catch (SIGUSR1);
    PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_SIGNAL, &signal, PMIX_INT);
    expect("beside a signal", ask(&me.proc, 1, infos, 2), PMIX_SUCCESS);
    wait_for(SIGUSR1);
    pmix_data_array_t *methods;
    PMIX_DATA_ARRAY_CREATE(methods, 2, PMIX_INFO);
    pmix_info_t *method = methods->array;
    PMIX_INFO_LOAD(&method[0], PMIX_JOB_CTRL_CHECKPOINT_EVENT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&method[1], PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, &signal, PMIX_INT);
    PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_CHECKPOINT_METHOD, methods, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_FREE(methods);
    expect("methods of checkpoints", ask(NULL, 0, infos, 2), PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&infos[1]);
    fence();
}

static sem_t asked;
static int times;

static void on_checkpoint(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                          pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                          void *cbdata) {
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++)
        times += PMIX_CHECK_KEY(&info[i], PMIX_JOB_CTRL_CHECKPOINT) && !strcmp(info[i].value.data.string, "noon");
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    sem_post(&asked);
}

static void on_registered(pmix_status_t status, size_t id, void *cbdata) {
    (void)id;
    answer_op(status, cbdata);
}

static void checkpoint(void) {
    pmix_status_t code = PMIX_JCTRL_CHECKPOINT;
    struct answer registered;
    answer_init(&registered);
    sem_init(&asked, 0, 0);
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_checkpoint, on_registered, &registered);
    if (answer_wait(&registered, "PMIx_Register_event_handler") != PMIX_SUCCESS)
        fail("register: %s", PMIx_Error_string(registered.status));
    fence();
    if (me.rank == 0) {
        pmix_info_t infos[2];
        bool yes = true;
        PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_CHECKPOINT, "noon", PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_CHECKPOINT_EVENT, &yes, PMIX_BOOL);
        expect("a checkpoint of all", ask(NULL, 0, infos, 2), PMIX_SUCCESS);
    }
    me.doing = "waiting for PMIX_JCTRL_CHECKPOINT";
    while (sem_wait(&asked) != 0 && errno == EINTR)
        ;
    fence();
    if (times != 1)
        fail("asked %d times", times);
}

int main(int argc, char **argv) {
    begin(40);
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "checkpoint")) {
        checkpoint();
        pass();
    }
    if (!strcmp(what, "signal") && argc > 3) {
        int number = atoi(argv[2]);
        read_targets(argv + 3, argc - 3);
        catch (number);
        fence();
        if (me.rank == 0)
            expect("signal", ask_number(targets, ntargets, PMIX_JOB_CTRL_SIGNAL, number), PMIX_SUCCESS);
        if (targeted)
            wait_for(number);
        fence();
        if (!targeted && caught[number])
            fail("was signalled as well");
    } else if (!strcmp(what, "several") && argc == 4) {
        int one = atoi(argv[2]), two = SIGUSR2;
        read_targets(argv + 3, 1);
        catch (one);
        catch (two);
        fence();
        if (me.rank == 0) {
            pmix_info_t infos[3];
            PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_SIGNAL, &one, PMIX_INT);
            PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_SIGNAL, &two, PMIX_INT);
            PMIX_INFO_LOAD(&infos[2], PMIX_JOB_CTRL_ID, "several", PMIX_STRING);
            expect("two signals", ask(targets, 1, infos, 3), PMIX_SUCCESS);
        }
        if (targeted) {
            wait_for(one);
            wait_for(two);
        }
        fence();
    } else if (!strcmp(what, "end") && argc > 3) {
        read_targets(argv + 3, argc - 3);
        fence();
        if (targeted)
            wait_for_the_end();
        if (me.rank == 0) {
            const char *key = strcmp(argv[2], "kill") ? PMIX_JOB_CTRL_TERMINATE : PMIX_JOB_CTRL_KILL;
            expect(argv[2], ask_flag(targets, ntargets, key), PMIX_SUCCESS);
            /* The end is heard of a moment later. */
            me.doing = "waiting until a dead process is not found";
            while (ask_number(targets, ntargets, PMIX_JOB_CTRL_SIGNAL, SIGCONT) != PMIX_ERR_NOT_FOUND)
                rest();
            pmix_proc_t both[2] = {targets[0], me.proc};
            expect("a dead process and a living one", ask_number(both, 2, PMIX_JOB_CTRL_SIGNAL, SIGCONT),
                   PMIX_ERR_PARTIAL_SUCCESS);
            expect("whoever lives", ask_number(NULL, 0, PMIX_JOB_CTRL_SIGNAL, SIGCONT), PMIX_SUCCESS);
        }
        fence_without_targets();
    } else if (!strcmp(what, "whole") && argc == 3) {
        fence();
        if (me.rank == 0)
            ask_flag(NULL, 0, strcmp(argv[2], "kill") ? PMIX_JOB_CTRL_TERMINATE : PMIX_JOB_CTRL_KILL);
        wait_for_the_end();
    } else if (!strcmp(what, "pause") && argc == 3) {
        read_targets(argv + 2, 1);
        pause_and_resume();
    } else if (!strcmp(what, "refused")) {
        refused();
    } else if (!strcmp(what, "declared")) {
        declared();
    } else if (!strcmp(what, "cleanup") && argc == 3) {
        pmix_info_t info;
        fence();
        if (me.rank == 0) {
            int fd = open(argv[2], O_WRONLY | O_CREAT, 0644);
            if (fd < 0)
                fail("%s: %s", argv[2], strerror(errno));
            PMIX_INFO_LOAD(&info, PMIX_REGISTER_CLEANUP, argv[2], PMIX_STRING);
            pmix_status_t rc = ask(&me.proc, 1, &info, 1);
            if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
                fail("PMIX_REGISTER_CLEANUP: %s", PMIx_Error_string(rc));
        }
        fence();
    } else {
        fail("usage: control signal|several|end|whole|pause|refused|cleanup ...");
    }
    pass();
}
