/* A job waits until it is told that its time is nearly up: PMIX_JCTRL_PREEMPT_ALERT, and the code that newer
 * headers have for it, with at most SECONDS left, each once at each rank.
 * usage: time_left SECONDS */
#include "client.h"

static sem_t warned, registered;
static uint32_t left = UINT32_MAX;
static int times;

static void on_warning(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING) && info[i].value.type == PMIX_UINT32)
            left = info[i].value.data.uint32;
    times++;
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    sem_post(&warned);
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

static void until_warned(uint32_t seconds) {
    pmix_status_t codes[] = {PMIX_JCTRL_PREEMPT_ALERT, -194 /* PMIX_ALLOC_TIMEOUT_WARNING */};
    PMIx_Register_event_handler(codes, 2, NULL, 0, on_warning, on_registered, NULL);
    wait_for(&registered, "PMIx_Register_event_handler");
    fence();
    wait_for(&warned, "waiting for the warning");
    wait_for(&warned, "waiting for the warning by its other code");
    if (left > seconds)
        fail("%u seconds are left", left);
    fence();
    if (times != 2)
        fail("warned %d times", times);
}

int main(int argc, char **argv) {
    sem_init(&warned, 0, 0);
    sem_init(&registered, 0, 0);
    if (argc < 2)
        fail("usage: time_left SECONDS");
    begin(150);
    until_warned((uint32_t)atoi(argv[1]));
    pass();
}
