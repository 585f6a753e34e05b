/* PMIx_Init again after PMIx_Finalize, as MPI sessions do: each time a barrier and the others' data.
 * usage: again [ROUNDS] */
#include "client.h"

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? atoi(argv[1]) : 3;
    for (unsigned round = 0; round < rounds; round++) {
        begin(60);
        char key[32];
        snprintf(key, sizeof(key), "round %u", round);
        fence(); /* at once: the server may not have seen the end before */
        put_u64(key, me.rank + 100 * round);
        must(PMIx_Commit());
        fence();
        uint32_t next = (me.rank + 1) % me.size;
        if (get_u64(next, key) != next + 100 * round)
            fail("wrong data of round %u", round);
        fence();
        if (round + 1 == rounds)
            pass();
        must(PMIx_Finalize(NULL, 0));
    }
}
