/* How long a direct modex takes, seen by rank 0, which asks every rank of other hosts once for 64
 * bytes. Prints "modex MEDIAN_US LOWEST_US FIRST_US": the first may have to make a connection. */
#include "client.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_here(uint32_t rank, const char *peers) {
    for (const char *c = peers; *c; c += strcspn(c, ","), c += *c == ',')
        if (strtoul(c, NULL, 10) == rank)
            return true;
    return false;
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
    if (me.rank == 0) {
        static double took[65536];
        double first = 0;
        unsigned n = 0;
        pmix_value_t *v;
        for (uint32_t p = 1; p < me.size; p++) {
            if (is_here(p, peers->data.string))
                continue;
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
