/* A rank that never calls PMIx_Init.
 * usage: nonpmi exits    it exits while the others are in a fence with it: they hear an error
 *        nonpmi aside    it exits; the others fence only among themselves and notice nothing
 * The rank is the last one (PMIX_RANK and SLURM_NTASKS or argv[2] tell which that is). */
#include "client.h"

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "exits";
    const char *rank = getenv("PMIX_RANK"), *odd = argc > 2 ? argv[2] : NULL;
    if (!rank || !odd)
        fail("usage: nonpmi exits|aside RANK, under a PMIx host");
    if (!strcmp(rank, odd))
        return 0;
    begin(60);
    need(2);
    size_t n;
    pmix_proc_t *others = all_but((uint32_t)atoi(odd), &n);
    if (!strcmp(what, "exits")) {
        double start = now();
        pmix_status_t rc = fence_with(NULL, 0, 0, 0);
        double took = now() - start;
        if (rc == PMIX_SUCCESS)
            fail("the fence succeeded without rank %s", odd);
        if (took > 15)
            fail("%s came only after %.1f s", status_name(rc), took);
        say("fence %u: %s", me.rank, status_name(rc));
    }
    put_u64("number", me.rank);
    must(PMIx_Commit());
    pmix_status_t rc = fence_with(others, n, COLLECT, 20);
    if (rc != PMIX_SUCCESS)
        fail("the fence of the others: %s", status_name(rc));
    for (size_t i = 0; i < n; i++)
        if (get_u64(others[i].rank, "number") != others[i].rank)
            fail("wrong number of rank %u", others[i].rank);
    pass();
}
