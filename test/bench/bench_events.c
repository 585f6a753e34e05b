/* Events between processes. usage: bench_events [COUNT [MANY]]
 *   latency    half of the way from rank 0 to the last rank and back, over a custom range: the median and
 *              the lowest of COUNT [1000], in us
 *   rate       MANY [20000] events of rank 0 to its namespace, without waiting: events in a second until
 *              all ranks have had all of them
 *   death      the last rank is killed: ms from a fence before until a rank hears of it; each rank says it
 * Prints "events KIND NUMBER ..." lines. */
#include <stdatomic.h>

#include "events.h"

enum { PING = 7201, PONG = 7202, MANY = 7203 };
static atomic_uint many;
static sem_t pinged, ponged, died, full;
static unsigned wanted;
static atomic_uint refused;

static void notify(pmix_status_t code, pmix_data_range_t range, uint32_t to, pmix_op_cbfunc_t cb) {
    pmix_info_t info[2];
    bool yes = true;
    pmix_proc_t target = me.proc;
    target.rank = to;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
    pmix_status_t rc = PMIx_Notify_event(code, &me.proc, range, info, range == PMIX_RANGE_CUSTOM ? 2 : 1, cb, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("PMIx_Notify_event: %s", PMIx_Error_string(rc));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)results, (void)nresults, (void)info, (void)ninfo;
    if (source->rank != me.rank || status == PMIX_ERR_PROC_ABORTED)
        switch (status) {
        case PING:
            sem_post(&pinged);
            break;
        case PONG:
            sem_post(&ponged);
            break;
        case MANY:
            if (++many == wanted)
                sem_post(&full);
            break;
        default:
            sem_post(&died);
        }
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static struct answer acks;
static void on_ack(pmix_status_t status, void *cbdata) {
    (void)cbdata;
    if (status != PMIX_SUCCESS)
        ++refused;
    sem_post(&acks.came);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    wanted = argc > 2 ? (unsigned)atoi(argv[2]) : 20000;
    begin(280);
    need(2);
    uint32_t last = me.size - 1;
    sem_init(&pinged, 0, 0);
    sem_init(&ponged, 0, 0);
    sem_init(&died, 0, 0);
    sem_init(&full, 0, 0);
    answer_init(&acks);
    pmix_status_t codes[] = {PING, PONG, MANY, PMIX_ERR_PROC_ABORTED};
    register_for(codes, 4, on_event);
    fence();
    double *took = calloc(count, sizeof *took);
    for (unsigned i = 0; i < count; i++) {
        if (me.rank == 0) {
            double begun = now();
            notify(PING, PMIX_RANGE_CUSTOM, last, NULL);
            await(&ponged, "an answer");
            took[i] = (now() - begun) * 1e6 / 2;
        } else if (me.rank == last) {
            await(&pinged, "a question");
            notify(PONG, PMIX_RANGE_CUSTOM, 0, NULL);
        }
    }
    qsort(took, count, sizeof *took, by_size);
    if (me.rank == 0)
        say("events latency %.1f %.1f", took[count / 2], took[0]);
    fence();

    double begun = now();
    if (me.rank == 0) {
        for (unsigned i = 0; i < wanted; i++)
            notify(MANY, PMIX_RANGE_NAMESPACE, 0, on_ack);
        for (unsigned i = 0; i < wanted; i++)
            answer_wait(&acks, "the answers");
        if (refused)
            fail("%u events were refused", refused);
    } else {
        await(&full, "all events");
    }
    fence();
    if (me.rank == 0)
        say("events rate %.0f", wanted / (now() - begun));

    fence();
    begun = now();
    if (me.rank == last)
        kill(getpid(), SIGKILL);
    await(&died, "the end of a process");
    double ms = (now() - begun) * 1e3;
    say("events death %.2f", ms);
    _exit(0); /* with a rank that has gone there is no PMIx_Finalize for all */
}
