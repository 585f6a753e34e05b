/* A fence of three ranks on three hosts, under which the link between the hosts of ranks 0 and 2 is
 * cut: all hear an error, soon, also rank 1, which enters only when the others have heard it.
 * Between the hosts of 0 and 2 no message passes but the fence's. */
#include "client.h"

int main(void) {
    begin(60);
    need(3);
    int inside = -1;
    if (me.rank == 1) {
        for (uint32_t p = 0; p < 3; p += 2)
            get_u64(p, "ready");
        for (uint32_t p = 0; p < 3; p += 2)
            wait_for_mark("inside", p);
    } else {
        inside = mark("inside", me.rank);
        put_u64("ready", 1);
        must(PMIx_Commit());
    }
    double start = now();
    pmix_status_t rc = fence_with(NULL, 0, 0, 0);
    double took = now() - start;
    if (inside >= 0)
        close(inside);
    if (rc != PMIX_ERR_LOST_CONNECTION)
        fail("the fence gave %s after %.1f s", status_name(rc), took);
    if (took > 15)
        fail("PMIX_ERR_LOST_CONNECTION came only after %.1f s", took);
    /* The other links are whole, and nobody may leave before rank 1 has what it asks for. */
    for (uint32_t p = 0; p < 3; p += 2) {
        pmix_proc_t pair[2] = {me.proc, me.proc};
        pair[0].rank = 1;
        pair[1].rank = p;
        if (me.rank == 1 || me.rank == p)
            must(fence_with(pair, 2, 0, 30));
    }
    pass();
}
