/* How long a fence takes, seen by rank 0. usage: bench_fence COUNT
 * Prints one line for each kind: "fence KIND MEDIAN_US LOWEST_US".
 *   nodata   without data         empty    collecting, nothing to collect
 *   64, 4096 collecting so many bytes of each rank */
#include "client.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *kind, unsigned count, bool collect, size_t bytes) {
    static double took[10000];
    char *data = calloc(1, bytes + 1);
    for (unsigned i = 0; i < count; i++) {
        if (bytes) {
            /* the same key, because a collecting fence carries all that was ever committed */
            data[0] = (char)i;
            put_bytes("bench", data, bytes);
            must(PMIx_Commit());
        }
        double start = now();
        must(fence_with(NULL, 0, collect ? COLLECT : 0, 0));
        took[i] = (now() - start) * 1e6;
    }
    free(data);
    qsort(took, count, sizeof(*took), by_size);
    if (me.rank == 0)
        say("fence %s %.1f %.1f", kind, took[count / 2], took[0]);
}

int main(int argc, char **argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    begin(300);
    if (count < 1 || count > 10000)
        fail("COUNT is 1 to 10000");
    measure("warm", 5, true, 0);
    measure("nodata", count, false, 0);
    measure("empty", count, true, 0);
    measure("64", count, true, 64);
    measure("4096", count, true, 4096);
    pass();
}
