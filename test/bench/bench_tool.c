/* How long a tool takes from nothing to its first answer, and beside it a client of a job from nothing to the end of
 * PMIx_Init.
 * usage: bench_tool client          "client MICROSECONDS"
 *        bench_tool tool NAMESPACE  "tool MICROSECONDS MICROSECONDS": until PMIx_tool_init has returned, and until the
 *                                   server of that name has answered a query
 *        bench_tool system          the same of the system's server of this host
 *        bench_tool job COUNT       "job RANK MICROSECONDS MICROSECONDS": PMIx_Init, and the median of COUNT fences */
#include "client.h"

#include <pmix_tool.h>

static double microseconds_since(double begin) {
    return (now() - begin) * 1e6;
}

static void ask(void) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t rc;
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
    pmix_info_t *results = NULL;
    size_t count = 0;
    must(rc);
    must(PMIx_Query_info(&query, 1, &results, &count));
    if (count == 0)
        fail("the query was answered with nothing");
    PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_fence(unsigned count) {
    static double took[1000];
    for (unsigned i = 0; i < count; i++) {
        double begin = now();
        fence_collect();
        took[i] = microseconds_since(begin);
    }
    qsort(took, count, sizeof(*took), by_size);
    return took[count / 2];
}

int main(int argc, char **argv) {
    watch(60);
    double begin = now();
    if ((argc == 3 && !strcmp(argv[1], "tool")) || (argc == 2 && !strcmp(argv[1], "system"))) {
        pmix_info_t info;
        bool yes = true;
        if (argc == 3)
            PMIX_INFO_LOAD(&info, PMIX_SERVER_NSPACE, argv[2], PMIX_STRING);
        else
            PMIX_INFO_LOAD(&info, PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL);
        must(PMIx_tool_init(&me.proc, &info, 1));
        double connected = microseconds_since(begin);
        ask();
        say("tool %.0f %.0f", connected, microseconds_since(begin));
        must(PMIx_tool_finalize());
        return 0;
    }
    must(PMIx_Init(&me.proc, NULL, 0));
    double connected = microseconds_since(begin);
    if (argc == 3 && !strcmp(argv[1], "job")) {
        unsigned count = (unsigned)atoi(argv[2]);
        if (count < 1 || count > 1000)
            fail("COUNT is 1 to 1000");
        median_fence(5); /* to be warm */
        say("job %u %.0f %.1f", me.proc.rank, connected, median_fence(count));
    } else {
        say("client %.0f", connected);
    }
    must(PMIx_Finalize(NULL, 0));
    return 0;
}
