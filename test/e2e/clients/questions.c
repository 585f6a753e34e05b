/* More questions to the resource manager than may wait, while it does not answer.
 *
 *   questions N GO TIMEOUT   waits for the file GO, asks N times without waiting, each time with
 *                            PMIX_TIMEOUT, and ends when all have been answered: "answers STATUS=COUNT ..."
 */
#include "client.h"

static struct {
    sem_t came;
    int timeouts, refusals, answers, others;
} seen;

static void on_answer(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                      pmix_release_cbfunc_t release, void *release_data) {
    (void)info;
    (void)ninfo;
    (void)cbdata;
    if (status == PMIX_ERR_TIMEOUT)
        seen.timeouts++;
    else if (status == PMIX_ERR_OUT_OF_RESOURCE)
        seen.refusals++;
    else if (status == PMIX_SUCCESS)
        seen.answers++;
    else
        seen.others++;
    if (release)
        release(release_data);
    sem_post(&seen.came);
}

int main(int argc, char **argv) {
    if (argc != 4)
        fail("usage: questions N GO TIMEOUT");
    int n = atoi(argv[1]), timeout = atoi(argv[3]);
    sem_init(&seen.came, 0, 0);
    begin(120);
    say("begun %u", me.rank);
    await_file(argv[2]);
    pmix_query_t *queries = calloc((size_t)n, sizeof(*queries));
    bool yes = true;
    for (int i = 0; i < n; i++) {
        pmix_status_t rc;
        PMIX_ARGV_APPEND(rc, queries[i].keys, PMIX_TIME_REMAINING);
        if (rc != PMIX_SUCCESS)
            fail("PMIX_ARGV_APPEND: %s", status_name(rc));
        PMIX_QUERY_QUALIFIERS_CREATE(&queries[i], 2);
        PMIX_INFO_LOAD(&queries[i].qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&queries[i].qualifiers[1], PMIX_TIMEOUT, &timeout, PMIX_INT);
        must(PMIx_Query_info_nb(&queries[i], 1, on_answer, NULL));
    }
    for (int i = 0; i < n; i++)
        await(&seen.came, "waiting for answers");
    say("answers TIMEOUT=%d OUT-OF-RESOURCE=%d SUCCESS=%d other=%d", seen.timeouts, seen.refusals, seen.answers,
        seen.others);
    pass();
}
