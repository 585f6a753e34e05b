/* A rank that leaves while others wait for it in a fence: they all hear an error, soon, and can go
 * on without it.
 * usage: die HOW WHEN [RANK]
 *   HOW   exit (status 7), quit (status 0), kill, segv: without PMIx_Finalize;
 *         leave: after PMIx_Finalize, status 0
 *   WHEN  before  the rank never enters the fence. (Where it leaves, the others of its host have
 *                 entered by then, also for "after": later they would wait for it for ever in libpmix
 *                 4.2.2, which is what "first" shows.)
 *         first   it has gone before any of its host enters
 *         inside  it had entered; another rank enters only after its death, and after the fence has
 *                 ended with an error on all other hosts. (Not on its own: libpmix lets nobody of a
 *                 host go before the last one of that host has entered.)
 *         after   it ends after a fence that all have left; the next one fails */
#include "client.h"

static const double limit = 15;

/* Returns when the fence has reached the server: after a call that the server answers. */
static struct answer *enter(void) {
    static struct answer entered;
    answer_init(&entered);
    must(PMIx_Fence_nb(NULL, 0, NULL, 0, answer_op, &entered));
    pmix_value_t *v = NULL;
    pmix_proc_t p = me.proc;
    bool yes = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
    PMIx_Get(&p, "test.nothing", &info, 1, &v);
    return &entered;
}

static void die(const char *how) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!strcmp(how, "exit"))
        _exit(7);
    if (!strcmp(how, "quit"))
        _exit(0);
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "leave"))
        pass();
    fail("usage: no way '%s' to die", how);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "kill", *when = argc > 2 ? argv[2] : "before";
    begin(60);
    need(3);
    uint32_t dier = argc > 3 ? (uint32_t)atoi(argv[3]) : me.size - 1;
    uint32_t late = (dier + 1) % me.size;
    if (me.rank == dier)
        show_life();
    int inside = mark("inside", me.rank), entering = mark("entering", me.rank);
    fence(); /* without data: a collecting one would answer for the dead below */

    bool leaves_last = !strcmp(how, "leave") && (!strcmp(when, "before") || !strcmp(when, "after"));
    if (!strcmp(when, "after"))
        fence();
    if (me.rank == dier) {
        if (!strcmp(when, "inside"))
            enter();
        for (uint32_t p = 0; leaves_last && p < me.size; p++)
            if (p != dier && on_my_host(p))
                wait_for_mark("entering", p);
        die(how);
    }
    if (!strcmp(when, "first") && on_my_host(dier))
        wait_for_death();
    if (!strcmp(when, "inside") && me.rank == late) {
        wait_for_death();
        for (uint32_t p = 0; p < me.size; p++)
            if (p != dier && p != late && !on_my_host(p))
                wait_for_mark("inside", p);
    }

    double start = now();
    struct answer *fence_answer = enter();
    close(entering);
    pmix_status_t rc = answer_wait(fence_answer, "PMIx_Fence_nb");
    double took = now() - start;
    close(inside);
    if (rc == PMIX_SUCCESS)
        fail("the fence succeeded without rank %u", dier);
    if (took > limit)
        fail("%s came only after %.1f s", status_name(rc), took);
    say("fence %u: %s", me.rank, status_name(rc));

    size_t left;
    pmix_proc_t *those = all_but(dier, &left);
    fence_of_those_left(those, left, 20);
    pass();
}
