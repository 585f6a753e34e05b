/* PMIX_TIMEOUT in a fence: one rank never comes, all others hear PMIX_ERR_TIMEOUT, in time.
 * usage: fence_timeout SECONDS [again [ABSENT]]; with "again" the same ranks then fence once more,
 * this time with the absent one: it must not be taken for the fence that timed out. */
#include "client.h"

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    bool again = argc > 2 && !strcmp(argv[2], "again");
    begin(60);
    need(2);
    uint32_t absent = argc > 3 ? (uint32_t)atoi(argv[3]) : me.size - 1;
    if (me.rank == absent) {
        /* it learns that the others are through from the data they commit afterwards */
        for (uint32_t p = 0; p < me.size; p++)
            if (p != me.rank)
                get_u64(p, "through");
    } else {
        double start = now();
        pmix_status_t rc = fence_with(NULL, 0, 0, seconds);
        double took = now() - start;
        put_u64("through", 1);
        must(PMIx_Commit());
        if (rc != PMIX_ERR_TIMEOUT)
            fail("the fence gave %s after %.1f s", PMIx_Error_string(rc), took);
        if (took < seconds - 0.5 || took > seconds + 5)
            fail("PMIX_ERR_TIMEOUT came after %.1f s instead of %d", took, seconds);
    }
    if (again) {
        pmix_status_t rc = fence_with(NULL, 0, 0, 20);
        if (rc != PMIX_SUCCESS)
            fail("the fence after it: %s", PMIx_Error_string(rc));
    }
    pass();
}
