/* How long it takes to build a group of all ranks, beside a fence of the same processes with the same
 * data, in turn; seen by rank 0. usage: bench_group COUNT
 * Prints "group WHAT MEDIAN_US LOWEST_US" for fence, construct (with a context id) and destruct, and
 * "group ratio R": construct's median over that of the fence; the aim is 1.2 at most. */
#include "client.h"

enum { MOST = 10000, KINDS = 3 };
static double took[KINDS][MOST];

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(unsigned count, const pmix_proc_t *procs, bool shown) {
    pmix_info_t with_id;
    PMIX_INFO_LOAD(&with_id, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    for (unsigned i = 0; i < count; i++) {
        pmix_info_t *results;
        size_t n;
        fence(); /* all begin together */
        double start = now();
        must(fence_with(procs, me.size, COLLECT, 0));
        took[0][i] = (now() - start) * 1e6;
        fence();
        start = now();
        must(PMIx_Group_construct("bench", procs, me.size, &with_id, 1, &results, &n));
        took[1][i] = (now() - start) * 1e6;
        fence();
        start = now();
        must(PMIx_Group_destruct("bench", NULL, 0));
        took[2][i] = (now() - start) * 1e6;
    }
    if (me.rank != 0 || !shown)
        return;
    static const char *names[] = {"fence", "construct", "destruct"};
    for (int what = 0; what < KINDS; what++) {
        qsort(took[what], count, sizeof(**took), by_size);
        say("group %s %.1f %.1f", names[what], took[what][count / 2], took[what][0]);
    }
    say("group ratio %.2f", took[1][count / 2] / took[0][count / 2]);
}

int main(int argc, char **argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    begin(300);
    if (count < 1 || count > MOST)
        fail("COUNT is 1 to %d", MOST);
    char data[64] = {0};
    put_bytes("bench", data, sizeof(data));
    must(PMIx_Commit());
    pmix_proc_t *procs = calloc(me.size, sizeof(*procs));
    for (uint32_t r = 0; r < me.size; r++)
        PMIX_LOAD_PROCID(&procs[r], me.proc.nspace, r);
    measure(5, procs, false);
    measure(count, procs, true);
    pass();
}
