/* Every end of a process is told to all others, whether or not it was in order.
 * usage: ended [invited]
 *   The last rank leaves after PMIx_Finalize, then the one before it is killed, then rank 0 leaves: who is
 *   left hears of each once by each of the two codes that there are, and reads how it ended.
 *   invited: rank 0 has built a group by invitation before. It hears by the newer code alone, since
 *   libpmix' own listener to the older one works with what it has freed by then. */
#include <pthread.h>

#include "client.h"

enum { MAX = 16, CODES = 2 };
static const pmix_status_t codes[CODES] = {PMIX_EVENT_PROC_TERMINATED, PMIX_PROC_TERMINATED};

static struct told {
    int times;
    int exit_code; /* -1: not told */
    char host[256];
    bool timed;
} heard[CODES][MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t came, invited, registered;

static void note(int code, const pmix_proc_t *proc, const pmix_info_t *info, size_t ninfo) {
    if (proc->rank >= MAX || strcmp(proc->nspace, me.proc.nspace))
        fail("it tells of %s:%u", proc->nspace, proc->rank);
    struct told *t = &heard[code][proc->rank];
    t->times++;
    t->exit_code = -1;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            t->exit_code = info[i].value.data.integer;
        else if (PMIX_CHECK_KEY(&info[i], PMIX_HOSTNAME))
            snprintf(t->host, sizeof(t->host), "%s", info[i].value.data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TIMESTAMP))
            t->timed = info[i].value.type == PMIX_TIME;
    }
}

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    int code = status == codes[0] ? 0 : 1;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            note(code, info[i].value.data.proc, info, ninfo);
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS)) {
            const pmix_proc_t *procs = info[i].value.data.darray->array;
            for (size_t p = 0; p < info[i].value.data.darray->size; p++)
                note(code, &procs[p], info, ninfo);
        }
    }
    pthread_mutex_unlock(&lock);
    sem_post(&came);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void on_invited(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    sem_post(&invited);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void on_registered(pmix_status_t status, size_t id, void *cbdata) {
    (void)id, (void)cbdata;
    if (status != PMIX_SUCCESS)
        fail("PMIx_Register_event_handler: %s", PMIx_Error_string(status));
    sem_post(&registered);
}

static void wait_for(sem_t *what, const char *doing) {
    me.doing = doing;
    while (sem_wait(what) != 0 && errno == EINTR)
        ;
}

static void listen_to(const pmix_status_t *which, size_t n, pmix_notification_fn_t handler) {
    PMIx_Register_event_handler((pmix_status_t *)which, n, NULL, 0, handler, on_registered, NULL);
    wait_for(&registered, "PMIx_Register_event_handler");
}

static void invite(void) {
    pmix_status_t code = PMIX_GROUP_INVITED;
    pmix_proc_t pair[2] = {me.proc, me.proc};
    pmix_info_t *results = NULL;
    size_t n = 0;
    pair[0].rank = 0;
    pair[1].rank = 1;
    if (me.rank == 1)
        listen_to(&code, 1, on_invited);
    fence();
    if (me.rank == 0)
        must(PMIx_Group_invite("pair", pair, 2, NULL, 0, &results, &n));
    if (me.rank == 1) {
        wait_for(&invited, "waiting for the invitation");
        must(PMIx_Group_join("pair", &pair[0], PMIX_GROUP_ACCEPT, NULL, 0, &results, &n));
    }
    fence();
}

static bool complete(uint32_t rank, bool both) {
    pthread_mutex_lock(&lock);
    bool all = heard[0][rank].times > 0 && (!both || heard[1][rank].times > 0);
    pthread_mutex_unlock(&lock);
    return all;
}

static void hear(uint32_t rank, int exit_code, bool both) {
    while (!complete(rank, both))
        wait_for(&came, exit_code ? "waiting to hear of a killed process" : "waiting to hear of a process that left");
    pmix_value_t *host = NULL;
    if (!get(rank, PMIX_HOSTNAME, &host))
        fail("no PMIX_HOSTNAME of rank %u", rank);
    for (int c = 0; c < (both ? CODES : 1); c++) {
        const struct told *t = &heard[c][rank];
        if (t->exit_code != exit_code)
            fail("rank %u ended with %d, told was %d", rank, exit_code, t->exit_code);
        if (!t->timed || strcmp(t->host, host->data.string))
            fail("rank %u: host %s, timed %d", rank, t->host, t->timed);
    }
    PMIX_VALUE_RELEASE(host);
}

int main(int argc, char **argv) {
    bool inviting = argc > 1 && !strcmp(argv[1], "invited");
    sem_init(&came, 0, 0);
    sem_init(&invited, 0, 0);
    sem_init(&registered, 0, 0);
    begin(60);
    need(4);
    listen_to(codes, CODES, on_end);
    if (inviting)
        invite();
    fence();
    bool both = !(inviting && me.rank == 0);
    uint32_t last = me.size - 1;
    if (me.rank == last)
        pass();
    hear(last, 0, both);
    pmix_proc_t rest[MAX];
    for (uint32_t p = 0; p < MAX; p++) {
        rest[p] = me.proc;
        rest[p].rank = p;
    }
    must(fence_with(rest, last, 0, 0));
    if (me.rank == last - 1)
        kill(getpid(), SIGKILL);
    hear(last - 1, 137, both);
    must(fence_with(rest, last - 1, 0, 0));
    if (me.rank == 0)
        pass();
    hear(0, 0, both);
    must(fence_with(rest + 1, last - 2, 0, 0));
    for (uint32_t p = 0; p < me.size; p++)
        for (int c = 0; c < CODES; c++) {
            bool ended = p == 0 || p >= last - 1; /* others may have by now */
            if (heard[c][p].times > 1 || (ended && heard[c][p].times == 0))
                fail("heard %d times of rank %u", heard[c][p].times, p);
        }
    pass();
}
