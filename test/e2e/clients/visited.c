/* A job that a tool visits: each rank hears of events 7201, 7202 and 7204, of PMIX_EVENT_JOB_END, and of SIGUSR1; when
 * rank 0 hears 7201, it notifies 7203 to all.
 * Prints "there RANK", then "heard RANK CODE" for each event and "signalled RANK"; ends with event 7202. */
#include "events.h"

static sem_t news;
static volatile sig_atomic_t signalled;
static unsigned to_notify; /* how often, in the main thread: libpmix calls our own handlers from within */
static bool over;

static void on_notified(pmix_status_t status, void *data) {
    (void)data;
    if (status != PMIX_SUCCESS)
        fail("PMIx_Notify_event: %s", status_name(status));
}

static void note(const struct event *event) {
    say("heard %u %s", me.rank,
        event->code == PMIX_EVENT_JOB_END ? "JOB_END"
        : event->code == 7201             ? "7201"
        : event->code == 7202             ? "7202"
        : event->code == 7204             ? "7204"
                                          : "7203");
    if (event->code == 7201 && me.rank == 0)
        to_notify++;
    if (event->code == 7202)
        over = true;
    sem_post(&news);
}
EVENT_HANDLER(on_event, note, PMIX_EVENT_ACTION_COMPLETE)

static void on_signal(int number) {
    (void)number;
    signalled = 1;
    sem_post(&news);
}

int main(void) {
    begin(480); /* longer than a whole script */
    sem_init(&news, 0, 0);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pmix_status_t codes[] = {7201, 7202, 7203, 7204, PMIX_EVENT_JOB_END};
    register_nb(codes, 5, on_event);
    fence();
    say("there %u", me.rank);
    me.doing = "waiting for a tool";
    for (bool ends = false; !ends;) {
        while (sem_wait(&news) != 0)
            ;
        if (signalled) {
            signalled = 0;
            say("signalled %u", me.rank);
        }
        pthread_mutex_lock(&lock);
        unsigned times = to_notify;
        to_notify = 0;
        ends = over;
        pthread_mutex_unlock(&lock);
        while (times-- > 0)
            PMIx_Notify_event(7203, &me.proc, PMIX_RANGE_NAMESPACE, NULL, 0, on_notified, NULL);
    }
    pass();
}
