/* How long a direct modex takes between hosts of which neither is the root of the tree, as most are: seen by the last
 * rank, which asks once for 64 bytes of every rank of other hosts than its own and rank 0's (with two hosts, of rank
 * 0's). To be started with as many processes on each host. Prints "modex MEDIAN_US LOWEST_US FIRST_US": the first may
 * have to make a connection. */
#include "client.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static unsigned count_of(const char *peers) {
    unsigned count = *peers != 0;
    for (; *peers; peers++)
        count += *peers == ',';
    return count;
}

int main(void) {
    begin(120);
    pmix_value_t *peers;
    if (!get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, &peers))
        fail("no PMIX_LOCAL_PEERS");
    char data[64] = {1};
    put_bytes("bench", data, sizeof(data));
    must(PMIx_Commit());
    fence();
    const unsigned each = count_of(peers->data.string), first_here = me.size - each;
    if (me.rank == me.size - 1) {
        static double took[65536];
        double first = 0;
        unsigned n = 0;
        pmix_value_t *v;
        for (uint32_t p = first_here > each ? each : 0; p < first_here && n < 65536; p++) {
            double start = now();
            if (!get(p, "bench", &v))
                fail("nothing from rank %u", p);
            took[n++] = (now() - start) * 1e6;
            if (n == 1)
                first = took[0];
            PMIX_VALUE_RELEASE(v);
        }
        qsort(took, n, sizeof(*took), by_size);
        if (n)
            say("modex %.1f %.1f %.1f", took[n / 2], took[0], first);
    }
    fence();
    pass();
}
