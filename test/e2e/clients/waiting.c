/* The last rank ends while all others wait in a call in which it should take part, or for what it would
 * publish: they hear soon, and go on without it.
 * usage: waiting CALL HOW
 *   CALL  fence, connect, group: an error for all who wait
 *         lookup: who should publish is nobody's business; it goes on, and another rank publishes
 *   HOW   segv, kill, exit (status 3): without PMIx_Finalize */
#include "client.h"

static void on_found(pmix_status_t status, pmix_pdata_t *data, size_t n, void *cbdata) {
    struct answer *a = cbdata;
    if (n == 1 && data[0].value.type == PMIX_UINT64)
        a->number = data[0].value.data.uint64;
    answer_op(status, a);
}

static const char key[] = "test.waiting";

static void publish(void) {
    pmix_info_t info;
    uint64_t number = 4711;
    PMIX_INFO_LOAD(&info, key, &number, PMIX_UINT64);
    must(PMIx_Publish(&info, 1));
    PMIX_INFO_DESTRUCT(&info);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *call = argv[1], *how = argv[2];
    bool lookup = !strcmp(call, "lookup");
    begin(120);
    need(3);
    uint32_t victim = me.size - 1;
    size_t n;
    pmix_proc_t *procs = all_but(me.size, &n);
    if (me.rank == victim)
        show_life();
    int waiting = mark("waiting", me.rank);
    fence();
    if (me.rank == victim) {
        for (uint32_t r = 0; r < victim; r++)
            wait_for_mark("waiting", r);
        end_by(how);
    }

    struct answer answer;
    answer_init(&answer);
    pmix_status_t rc = PMIX_ERR_BAD_PARAM;
    pmix_info_t info;
    char *keys[] = {(char *)key, NULL};
    if (!strcmp(call, "fence"))
        rc = PMIx_Fence_nb(procs, me.size, NULL, 0, answer_op, &answer);
    else if (!strcmp(call, "connect"))
        rc = PMIx_Connect_nb(procs, me.size, NULL, 0, answer_op, &answer);
    else if (!strcmp(call, "group")) {
        PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
        rc = PMIx_Group_construct_nb("test-waiting", procs, me.size, &info, 1, answer_info, &answer);
    } else if (lookup) {
        PMIX_INFO_LOAD(&info, PMIX_WAIT, NULL, PMIX_BOOL);
        rc = PMIx_Lookup_nb(keys, &info, 1, on_found, &answer);
    }
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", call, status_name(rc));
    close(waiting);
    if (lookup) {
        wait_for_death();
        if (me.rank == 0)
            publish();
    }
    rc = answer_wait(&answer, call);
    say("%s %u: %s", call, me.rank, status_name(rc));
    if (lookup ? rc != PMIX_SUCCESS || answer.number != 4711 : rc == PMIX_SUCCESS || rc == PMIX_ERR_PARTIAL_SUCCESS)
        fail("%s ended with %s", call, status_name(rc));
    must(fence_with(procs, victim, 0, 60));
    say("ok %d", (int)me.rank);
    _exit(0); /* PMIx_Finalize is none of what is tested */
}
