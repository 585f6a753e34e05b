/* A job that works in rounds until it is told that its time is up, or to stop, for what happens to it
 * meanwhile.
 * usage: rounds warned SECONDS   until PMIX_JCTRL_PREEMPT_ALERT: with at most SECONDS left, once at each rank
 *        rounds until FILE       until there is such a file in $CLIENT_DIR; rank 0 counts in FILE.rounds */
#include <sys/stat.h>

#include "client.h"

static sem_t warned, registered;
static uint32_t left = UINT32_MAX;
static int times;

static void on_warning(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t *results, size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING) && info[i].value.type == PMIX_UINT32)
            left = info[i].value.data.uint32;
    times++;
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    sem_post(&warned);
}

static void on_registered(pmix_status_t status, size_t id, void *cbdata)
{
    (void)id, (void)cbdata;
    if (status != PMIX_SUCCESS)
        fail("PMIx_Register_event_handler: %s", PMIx_Error_string(status));
    sem_post(&registered);
}

static void wait_for(sem_t *what, const char *doing)
{
    me.doing = doing;
    while (sem_wait(what) != 0 && errno == EINTR)
        ;
}

static void until_warned(uint32_t seconds)
{
    pmix_status_t code = PMIX_JCTRL_PREEMPT_ALERT;
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_warning, on_registered, NULL);
    wait_for(&registered, "PMIx_Register_event_handler");
    fence();
    wait_for(&warned, "waiting for the warning");
    if (left > seconds)
        fail("%u seconds are left", left);
    fence();
    if (times != 1)
        fail("warned %d times", times);
}

static bool is_there(const char *name)
{
    char path[4096];
    struct stat found;
    snprintf(path, sizeof(path), "%s/%s", getenv("CLIENT_DIR"), name);
    return stat(path, &found) == 0;
}

/* Rank 0 looks, and all others learn it by the round's fence. */
static void until_there(const char *name)
{
    char counter[4096], key[64];
    snprintf(counter, sizeof(counter), "%s/%s.rounds", getenv("CLIENT_DIR"), name);
    uint64_t enough = 0;
    for (int round = 1; !enough; round++) {
        snprintf(key, sizeof(key), "enough.%d", round);
        if (me.rank == 0) {
            put_u64(key, is_there(name));
            must(PMIx_Commit());
        }
        fence_collect();
        enough = get_u64(0, key);
        if (me.rank == 0) {
            FILE *out = fopen(counter, "w");
            if (!out || fprintf(out, "%d\n", round) < 0 || fclose(out) != 0)
                fail("%s: %s", counter, strerror(errno));
            struct timespec pause = {0, 50000000}; /* between two looks */
            nanosleep(&pause, NULL);
        }
    }
}

int main(int argc, char **argv)
{
    sem_init(&warned, 0, 0);
    sem_init(&registered, 0, 0);
    if (argc < 3)
        fail("usage: rounds warned SECONDS | until FILE");
    begin(150);
    if (!strcmp(argv[1], "warned"))
        until_warned((uint32_t)atoi(argv[2]));
    else
        until_there(argv[2]);
    pass();
}
