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
#include "control.h"
#include "events.h"
#include "peers.h"

static pmix_proc_t targets[1024];
static size_t ntargets;
static bool targeted;

static void read_targets(char **argv, int n) {
    for (int i = 0; i < n && ntargets < 1024; i++, ntargets++) {
        targets[ntargets] =
            process(me.proc.nspace, strcmp(argv[i], "all") ? (uint32_t)atoi(argv[i]) : PMIX_RANK_WILDCARD);
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
        if (!out)
            left[n++] = process(me.proc.nspace, rank);
    }
    fence_of_those_left(left, n, 20);
}

static void wait_for_the_end(void) {
    me.doing = "waiting to be ended";
    for (;;)
        pause();
}

static void stand_still(void) {
    bool victim = me.rank == targets[0].rank;
    if (victim)
        catch (SIGUSR1);
    fence();
    me.doing = "waiting for a signal";
    while (victim && !caught[SIGUSR1])
        tick(path_of("ticks", 0));
    if (me.rank == 0) {
        pause_and_resume(targets, path_of("ticks", 0));
        expect("SIGUSR1", ask_signal(targets, 1, SIGUSR1), PMIX_SUCCESS);
    }
    fence();
}

static void refused(void) {
    if (me.rank == 0) {
        pmix_proc_t who = me.proc;
        pmix_info_t infos[3];
        int number = SIGUSR1;
        who.rank = me.size;
        expect("a rank too many", ask_signal(&who, 1, SIGUSR1), PMIX_ERR_NOT_FOUND);
        PMIX_LOAD_PROCID(&who, "nobody's namespace", 0);
        expect("another namespace", ask_signal(&who, 1, SIGUSR1), PMIX_ERR_NOT_FOUND);
        pmix_proc_t two[2] = {me.proc, me.proc};
        two[1].rank = me.size + 7;
        expect("one of two is not there", ask_signal(two, 2, SIGKILL), PMIX_ERR_NOT_FOUND);
        expect("signal 0", ask_signal(&me.proc, 1, 0), PMIX_ERR_BAD_PARAM);
        expect("signal 65", ask_signal(&me.proc, 1, 65), PMIX_ERR_BAD_PARAM);
        expect("signal -9", ask_signal(&me.proc, 1, -9), PMIX_ERR_BAD_PARAM);
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
        wait_for_signal(SIGUSR1);
    }
    fence();
}

/* A request that only declares is accepted; nothing is done. */
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
    wait_for_signal(SIGUSR1);
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

static unsigned asked, times;

static void note(const struct event *event) {
    const pmix_value_t *name = carried(event, PMIX_JOB_CTRL_CHECKPOINT, PMIX_STRING);
    times += name && !strcmp(name->data.string, "noon");
    asked++;
}
EVENT_HANDLER(on_checkpoint, note, PMIX_SUCCESS)

static void checkpoint(void) {
    pmix_status_t code = PMIX_JCTRL_CHECKPOINT;
    register_nb(&code, 1, on_checkpoint);
    fence();
    if (me.rank == 0) {
        pmix_info_t infos[2];
        bool yes = true;
        PMIX_INFO_LOAD(&infos[0], PMIX_JOB_CTRL_CHECKPOINT, "noon", PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_JOB_CTRL_CHECKPOINT_EVENT, &yes, PMIX_BOOL);
        expect("a checkpoint of all", ask(NULL, 0, infos, 2), PMIX_SUCCESS);
    }
    wait_for_count(&asked, 1, "waiting for PMIX_JCTRL_CHECKPOINT");
    fence();
    if (times != 1)
        fail("asked %u times", times);
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
            expect("signal", ask_signal(targets, ntargets, number), PMIX_SUCCESS);
        if (targeted)
            wait_for_signal(number);
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
            wait_for_signal(one);
            wait_for_signal(two);
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
            while (ask_signal(targets, ntargets, SIGCONT) != PMIX_ERR_NOT_FOUND)
                rest();
            pmix_proc_t both[2] = {targets[0], me.proc};
            expect("a dead process and a living one", ask_signal(both, 2, SIGCONT), PMIX_ERR_PARTIAL_SUCCESS);
            expect("whoever lives", ask_signal(NULL, 0, SIGCONT), PMIX_SUCCESS);
        }
        fence_without_targets();
    } else if (!strcmp(what, "whole") && argc == 3) {
        fence();
        if (me.rank == 0)
            ask_flag(NULL, 0, strcmp(argv[2], "kill") ? PMIX_JOB_CTRL_TERMINATE : PMIX_JOB_CTRL_KILL);
        wait_for_the_end();
    } else if (!strcmp(what, "pause") && argc == 3) {
        read_targets(argv + 2, 1);
        stand_still();
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
                fail("PMIX_REGISTER_CLEANUP: %s", status_name(rc));
        }
        fence();
    } else {
        fail("usage: control signal|several|end|whole|pause|refused|cleanup ...");
    }
    pass();
}
