/* PMIx_Process_monitor: the library watches rank 0, and tells when it shows no sign of life.
 *
 *   monitor heartbeat             rank 0 promises a heartbeat a second, and sends none
 *   monitor size|access|modify    a file of rank 0 does not grow, is not read, is not written
 *
 * Every other rank hears of it once, as coming from rank 0. */
#include <pthread.h>

#include "client.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned alerts[2], wrong;

static void on_alert(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
    (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    if (source->rank != 0 || strcmp(source->nspace, me.proc.nspace))
        wrong++;
    alerts[status == PMIX_MONITOR_FILE_ALERT]++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static void hear_one(int file) {
    me.doing = "waiting for the alert";
    pthread_mutex_lock(&lock);
    while (alerts[file] == 0)
        pthread_cond_wait(&changed, &lock); /* at most until the alarm */
    if (wrong || alerts[!file])
        fail("an alert of another kind or of another process");
    pthread_mutex_unlock(&lock);
}

static void ask(const char *what, const void *value, pmix_data_type_t type, const char *detail) {
    pmix_info_t monitored, directives[4], *results = NULL;
    size_t n = 0, nresults = 0;
    uint32_t second = 1, drops = 1;
    bool yes = true, file = detail != NULL;
    PMIX_INFO_LOAD(&monitored, what, value, type);
    PMIX_INFO_LOAD(&directives[n++], PMIX_MONITOR_ID, "life", PMIX_STRING);
    PMIX_INFO_LOAD(&directives[n++], file ? PMIX_MONITOR_FILE_CHECK_TIME : PMIX_MONITOR_HEARTBEAT_TIME, &second,
                   PMIX_UINT32);
    PMIX_INFO_LOAD(&directives[n++], file ? PMIX_MONITOR_FILE_DROPS : PMIX_MONITOR_HEARTBEAT_DROPS, &drops,
                   PMIX_UINT32);
    if (file)
        PMIX_INFO_LOAD(&directives[n++], detail, &yes, PMIX_BOOL);
    must(PMIx_Process_monitor(&monitored, file ? PMIX_MONITOR_FILE_ALERT : PMIX_MONITOR_HEARTBEAT_ALERT, directives, n,
                              &results, &nresults));
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "heartbeat", *detail = NULL;
    pmix_status_t codes[] = {PMIX_MONITOR_HEARTBEAT_ALERT, PMIX_MONITOR_FILE_ALERT};
    begin(60);
    me.doing = "PMIx_Register_event_handler";
    if (PMIx_Register_event_handler(codes, 2, NULL, 0, on_alert, NULL, NULL) < 0)
        fail("PMIx_Register_event_handler");
    fence();
    if (!strcmp(what, "size"))
        detail = PMIX_MONITOR_FILE_SIZE;
    else if (!strcmp(what, "access"))
        detail = PMIX_MONITOR_FILE_ACCESS;
    else if (!strcmp(what, "modify"))
        detail = PMIX_MONITOR_FILE_MODIFY;
    else if (strcmp(what, "heartbeat"))
        fail("what is '%s'?", what);
    if (me.rank == 0 && detail) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/watched", getenv("CLIENT_DIR"));
        int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
        if (fd < 0 || write(fd, "x", 1) != 1)
            fail("%s: %s", path, strerror(errno));
        close(fd);
        ask(PMIX_MONITOR_FILE, path, PMIX_STRING, detail);
    } else if (me.rank == 0) {
        ask(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_BOOL, NULL);
    }
    if (me.rank != 0)
        hear_one(detail != NULL);
    fence();
    pthread_mutex_lock(&lock);
    if (me.rank != 0 && alerts[0] + alerts[1] != 1)
        fail("%u alerts", alerts[0] + alerts[1]);
    pthread_mutex_unlock(&lock);
    pass();
}
