/* PMIx_Abort.
 * usage: abort all STATUS TEXT [RANK]   RANK (default: the last) aborts the whole job, the others
 *                                       are in a fence and must not outlive it
 *        abort list STATUS TEXT VICTIM  rank 0 aborts VICTIM only; the others hear of it, and then of its end,
 *                                       and go on */
#include "events.h"

static struct {
    unsigned count;
    uint32_t by, victim;
    int status;
    char ends[64], text[128];
} asked;
static unsigned ends;

static void note(const struct event *event) {
    const pmix_value_t *v = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    uint32_t rank = v ? v->data.proc->rank : PMIX_RANK_UNDEF;
    if (event->code == PMIX_ERR_PROC_ABORTED) {
        if (asked.count != 1 || rank != asked.victim)
            note_wrong("rank %u has ended, after %u aborts of rank %u", rank, asked.count, asked.victim);
        ends++;
        return;
    }
    asked.count++;
    asked.by = event->source->rank;
    asked.victim = rank;
    if ((v = carried(event, PMIX_EXIT_CODE, PMIX_INT)))
        asked.status = v->data.integer;
    if ((v = carried(event, PMIX_EVENT_TEXT_MESSAGE, PMIX_STRING)))
        snprintf(asked.text, sizeof asked.text, "%s", v->data.string);
    ended_for_it(event, asked.ends, sizeof asked.ends);
}
EVENT_HANDLER(on_event, note, PMIX_SUCCESS)

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
    pmix_status_t codes[] = {PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_ABORTED};
    if (me.rank != 0 && strcmp(argv[1], "all"))
        register_for(codes, 2, on_event);
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
    } else {
        wait_for_count(&ends, 1, "the end of the one that was aborted");
        if (asked.by != 0 || asked.victim != which || asked.status != status || strcmp(asked.text, argv[3]) ||
            strcmp(asked.ends, "process"))
            fail("rank %u aborts rank %u with %d, '%s': '%s' is to be ended, was said", asked.by, asked.victim,
                 asked.status, asked.text, asked.ends);
    }
    fence_of_those_left(those, left, 20);
    pass();
}
