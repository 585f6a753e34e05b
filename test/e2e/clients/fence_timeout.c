/* PMIX_TIMEOUT in a fence: one rank never comes, all others hear PMIX_ERR_TIMEOUT, in time.
 * usage: fence_timeout SECONDS [once|again [ABSENT]]; with "again" all ranks then fence once more:
 * that the others gave up must not spoil it. (The absent rank may be told of the fence that it
 * missed when it enters its first one.) */
#include "client.h"

/* Waits until `rank` has committed `key`. A fence that fails makes libpmix 4.2 answer the requests
 * that wait on the same host, with the fence's status or NOT_FOUND, so they are made again. */
static void wait_for(uint32_t rank, const char *key) {
    pmix_value_t *v = NULL;
    pmix_status_t rc;
    while ((rc = get_timed(rank, key, 0, &v)) != PMIX_SUCCESS)
        if (rc != PMIX_ERR_TIMEOUT && rc != PMIX_ERR_NOT_FOUND)
            fail("get %s of rank %u: %s", key, rank, status_name(rc));
    PMIX_VALUE_RELEASE(v);
}

int main(int argc, char **argv) {
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    bool again = argc > 2 && !strcmp(argv[2], "again");
    begin(60);
    need(2);
    double since = now();
    fence(); /* all begin together: the first one's time is everybody's */
    uint32_t absent = argc > 3 ? (uint32_t)atoi(argv[3]) : me.size - 1;
    if (me.rank == absent) {
        for (uint32_t p = 0; p < me.size; p++)
            if (p != me.rank)
                wait_for(p, "through");
        put_u64("seen", 1);
        must(PMIx_Commit());
        for (uint32_t p = 0; p < me.size; p++) /* none of them may find its host gone */
            if (p != me.rank)
                wait_for_mark("blind", p);
    } else {
        int blind = mark("blind", me.rank);
        double start = now();
        pmix_status_t rc = fence_with(NULL, 0, 0, seconds);
        double took = now() - start, took_all = now() - since; /* the first may be long before this one */
        put_u64("through", 1);
        must(PMIx_Commit());
        if (rc != PMIX_ERR_TIMEOUT)
            fail("the fence gave %s after %.1f s", status_name(rc), took);
        if (took_all < seconds - 0.5 || took > seconds + 20)
            fail("PMIX_ERR_TIMEOUT came after %.1f s instead of %d", took, seconds);
        wait_for(absent, "seen");
        close(blind);
    }
    if (again) {
        pmix_status_t rc = fence_with(NULL, 0, 0, 20);
        if (rc == PMIX_ERR_TIMEOUT && me.rank == absent)
            rc = fence_with(NULL, 0, 0, 20);
        if (rc != PMIX_SUCCESS)
            fail("the fence after it: %s", status_name(rc));
    }
    pass();
}
