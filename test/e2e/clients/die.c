/* A rank that leaves while others wait for it in a fence: they all hear an error, soon, and can go
 * on without it.
 * usage: die HOW WHEN [RANK]
 *   HOW   exit (status 7), quit (status 0), kill, segv: without PMIx_Finalize;
 *         leave: after PMIx_Finalize, status 0
 *   WHEN  before  the rank never enters the fence
 *         inside  it had entered; another rank enters only after its death
 *         after   it ends after a fence that all have left; the next one fails */
#include <sys/resource.h>

#include "client.h"

static const double limit = 15;

static void die(const char *how)
{
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

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "kill", *when = argc > 2 ? argv[2] : "before";
    begin(60);
    need(3);
    uint32_t dier = argc > 3 ? (uint32_t)atoi(argv[3]) : me.size - 1;
    uint32_t late = (dier + 1) % me.size;
    if (me.rank == dier)
        show_life();
    fence(); /* without data: a collecting one would answer for the dead below */

    struct answer entered;
    answer_init(&entered);
    if (!strcmp(when, "after"))
        fence();
    if (me.rank == dier) {
        if (!strcmp(when, "inside")) {
            must(PMIx_Fence_nb(NULL, 0, NULL, 0, answer_op, &entered));
            /* a call that the server answers, so that the fence has reached it */
            pmix_value_t *v = NULL;
            pmix_proc_t p = me.proc;
            bool yes = true;
            pmix_info_t info;
            PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
            PMIx_Get(&p, "test.nothing", &info, 1, &v);
        }
        die(how);
    }
    if (!strcmp(when, "inside") && me.rank == late) {
        wait_for_death();
        /* and until its host knows: then it answers that there is no such data */
        pmix_value_t *v = NULL;
        get_timed(dier, "never", 10, &v);
    }

    double start = now();
    pmix_status_t rc = fence_with(NULL, 0, 0, 0);
    double took = now() - start;
    if (rc == PMIX_SUCCESS)
        fail("the fence succeeded without rank %u", dier);
    if (took > limit)
        fail("%s came only after %.1f s", PMIx_Error_string(rc), took);
    say("fence %u: %s", me.rank, PMIx_Error_string(rc));

    pmix_proc_t *rest = calloc(me.size, sizeof(*rest));
    size_t n = 0;
    for (uint32_t p = 0; p < me.size; p++)
        if (p != dier) {
            rest[n] = me.proc;
            rest[n++].rank = p;
        }
    rc = fence_with(rest, n, 0, 20);
    if (rc != PMIX_SUCCESS)
        fail("the fence of those who are left: %s", PMIx_Error_string(rc));
    pass();
}
