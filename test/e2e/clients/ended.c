/* Every end of a process is told to all others, whether or not it was in order.
 * usage: ended [invited]
 *   The last rank leaves after PMIx_Finalize, then the one before it is killed, then rank 0 leaves: who is
 *   left hears of each once by each of the two codes that there are, and reads how it ended.
 *   invited: rank 0 has built a group by invitation before. It hears by the newer code alone, since
 *   libpmix' own listener to the older one works with what it has freed by then. */
#include "events.h"

enum { MAX = 16, CODES = 2 };
static pmix_status_t codes[CODES] = {PMIX_EVENT_PROC_TERMINATED, PMIX_PROC_TERMINATED};

static struct told {
    unsigned times;
    int exit_code; /* -1: not told */
    char host[256];
    bool timed;
} heard[CODES][MAX];
static unsigned invited;

static void note(const struct event *end, const pmix_proc_t *proc) {
    if (proc->rank >= MAX || strcmp(proc->nspace, me.proc.nspace))
        fail("it tells of %s:%u", proc->nspace, proc->rank);
    struct told *t = &heard[end->code == codes[0] ? 0 : 1][proc->rank];
    const pmix_value_t *code = carried(end, PMIX_EXIT_CODE, PMIX_INT), *host = carried(end, PMIX_HOSTNAME, PMIX_STRING);
    t->times++;
    t->exit_code = code ? code->data.integer : -1;
    if (host)
        snprintf(t->host, sizeof(t->host), "%s", host->data.string);
    if (carried(end, PMIX_EVENT_TIMESTAMP, PMIX_TIME))
        t->timed = true;
}

static void note_end(const struct event *end) {
    const pmix_value_t *one = carried(end, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *many = carried(end, PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY);
    if (one)
        note(end, one->data.proc);
    for (size_t p = 0; many && p < many->data.darray->size; p++)
        note(end, &((const pmix_proc_t *)many->data.darray->array)[p]);
}
EVENT_HANDLER(on_end, note_end, PMIX_SUCCESS)

static void note_invitation(const struct event *invitation) {
    (void)invitation;
    invited++;
}
EVENT_HANDLER(on_invited, note_invitation, PMIX_SUCCESS)

static void invite(void) {
    pmix_status_t code = PMIX_GROUP_INVITED;
    pmix_proc_t pair[2] = {me.proc, me.proc};
    pmix_info_t *results = NULL;
    size_t n = 0;
    pair[0].rank = 0;
    pair[1].rank = 1;
    if (me.rank == 1)
        register_nb(&code, 1, on_invited);
    fence();
    if (me.rank == 0)
        must(PMIx_Group_invite("pair", pair, 2, NULL, 0, &results, &n));
    if (me.rank == 1) {
        wait_for_count(&invited, 1, "waiting for the invitation");
        must(PMIx_Group_join("pair", &pair[0], PMIX_GROUP_ACCEPT, NULL, 0, &results, &n));
    }
    fence();
}

static void hear(uint32_t rank, int exit_code, bool both) {
    for (int c = 0; c < (both ? CODES : 1); c++)
        wait_for_count(&heard[c][rank].times, 1,
                       exit_code ? "waiting to hear of a killed process" : "waiting to hear of a process that left");
    pmix_value_t *host = NULL;
    if (!get(rank, PMIX_HOSTNAME, &host))
        fail("no PMIX_HOSTNAME of rank %u", rank);
    for (int c = 0; c < (both ? CODES : 1); c++) {
        const struct told *t = &heard[c][rank];
        if (t->exit_code != exit_code)
            fail("rank %u ended with %d, told was %d", rank, exit_code, t->exit_code);
        if (!t->timed || strcmp(t->host, host->data.string))
            fail("rank %u: host %s, timed %d", rank, t->host, t->timed);
    }
    PMIX_VALUE_RELEASE(host);
}

int main(int argc, char **argv) {
    bool inviting = argc > 1 && !strcmp(argv[1], "invited");
    begin(60);
    need(4);
    register_nb(codes, CODES, on_end);
    if (inviting)
        invite();
    fence();
    bool both = !(inviting && me.rank == 0);
    uint32_t last = me.size - 1;
    if (me.rank == last)
        pass();
    hear(last, 0, both);
    pmix_proc_t rest[MAX];
    for (uint32_t p = 0; p < MAX; p++) {
        rest[p] = me.proc;
        rest[p].rank = p;
    }
    must(fence_with(rest, last, 0, 0));
    if (me.rank == last - 1)
        kill(getpid(), SIGKILL);
    hear(last - 1, 137, both);
    must(fence_with(rest, last - 1, 0, 0));
    if (me.rank == 0)
        pass();
    hear(0, 0, both);
    must(fence_with(rest + 1, last - 2, 0, 0));
    for (uint32_t p = 0; p < me.size; p++)
        for (int c = 0; c < CODES; c++) {
            bool ended = p == 0 || p >= last - 1; /* others may have by now */
            if (heard[c][p].times > 1 || (ended && heard[c][p].times == 0))
                fail("heard %u times of rank %u", heard[c][p].times, p);
        }
    pass();
}
