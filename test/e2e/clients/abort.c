/* PMIx_Abort.
 * usage: abort all STATUS TEXT [RANK]   RANK (default: the last) aborts the whole job, the others
 *                                       are in a fence and must not outlive it
 *        abort list STATUS TEXT VICTIM  rank 0 aborts VICTIM only; the others go on */
#include "client.h"

static void wait_for_the_end(void) {
    me.doing = "waiting to be ended by PMIx_Abort";
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    if (argc < 4)
        fail("usage: abort all|list STATUS TEXT [RANK]");
    int status = atoi(argv[2]);
    begin(40);
    need(2);
    uint32_t which = argc > 4 ? (uint32_t)atoi(argv[4]) : me.size - 1;
    fence();
    if (!strcmp(argv[1], "all")) {
        if (me.rank == which) {
            me.doing = "PMIx_Abort";
            pmix_status_t rc = PMIx_Abort(status, argv[3], NULL, 0);
            if (rc != PMIX_SUCCESS)
                fail("PMIx_Abort: %s", status_name(rc));
            wait_for_the_end();
        }
        if (fence_with(NULL, 0, 0, 0) == PMIX_SUCCESS)
            fail("the fence succeeded");
        wait_for_the_end();
    }
    size_t left;
    pmix_proc_t *those = all_but(which, &left), victim = process(me.proc.nspace, which);
    if (me.rank == which)
        wait_for_the_end();
    if (me.rank == 0) {
        me.doing = "PMIx_Abort";
        pmix_status_t rc = PMIx_Abort(status, argv[3], &victim, 1);
        if (rc != PMIX_SUCCESS)
            fail("PMIx_Abort: %s", status_name(rc));
    }
    fence_of_those_left(those, left, 20);
    pass();
}
