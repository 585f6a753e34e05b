/* A fence is a true barrier, with or without data: nobody leaves it before the last has entered.
 * usage: barrier [ROUNDS [DELAY_MS [collect]]]; in each round another rank is late. */
#include "client.h"

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? atoi(argv[1]) : 4;
    unsigned delay_ms = argc > 2 ? atoi(argv[2]) : 300;
    int flags = argc > 3 && !strcmp(argv[3], "collect") ? COLLECT : 0;
    begin(60);
    double entered[64], left[64];
    if (rounds > 64)
        fail("at most 64 rounds");
    for (unsigned r = 0; r < rounds; r++) {
        /* the lateness is what is tested here, nothing relies on it for order */
        if (me.rank == (me.size - 1 + r) % me.size)
            usleep(delay_ms * 1000);
        entered[r] = now();
        must(fence_with(NULL, 0, flags, 0));
        left[r] = now();
    }
    put_bytes("entered", entered, sizeof(entered));
    must(PMIx_Commit());
    fence_collect();
    for (uint32_t p = 0; p < me.size; p++) {
        pmix_value_t *v;
        if (!get(p, "entered", &v))
            fail("no times from rank %u", p);
        double theirs[64];
        memcpy(theirs, v->data.bo.bytes, sizeof(theirs));
        PMIX_VALUE_RELEASE(v);
        for (unsigned r = 0; r < rounds; r++)
            if (left[r] < theirs[r])
                fail("round %u: left %.0f ms before rank %u entered", r, (theirs[r] - left[r]) * 1e3, p);
    }
    pass();
}
