/* PMIx_Process_monitor: the library watches rank 0, and tells when it shows no sign of life.
 *
 *   monitor heartbeat             rank 0 promises a heartbeat a second, and sends none
 *   monitor beats                 it sends them for longer than four may be missing, and then none
 *   monitor size|access|modify    a file of rank 0 does not grow, is not read, is not written
 *
 * Every other rank hears of it once, as coming from rank 0. */
#include "events.h"

static unsigned alerts[2], strange;

static void note(const struct event *alert) {
    if (alert->source->rank != 0 || strcmp(alert->source->nspace, me.proc.nspace))
        strange++;
    alerts[alert->code == PMIX_MONITOR_FILE_ALERT]++;
}
EVENT_HANDLER(on_alert, note, PMIX_SUCCESS)

static void hear_one(int file) {
    wait_for_count(&alerts[file], 1, "waiting for the alert");
    if (strange || alerts[!file])
        fail("an alert of another kind or of another process");
}

static uint32_t drops = 1; /* may be missing */

static void ask(const char *what, const void *value, pmix_data_type_t type, const char *detail) {
    pmix_info_t monitored, directives[4], *results = NULL;
    size_t n = 0, nresults = 0;
    uint32_t second = 1;
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
    register_for(codes, 2, on_alert);
    fence();
    if (!strcmp(what, "beats"))
        drops = 4;
    if (!strcmp(what, "size"))
        detail = PMIX_MONITOR_FILE_SIZE;
    else if (!strcmp(what, "access"))
        detail = PMIX_MONITOR_FILE_ACCESS;
    else if (!strcmp(what, "modify"))
        detail = PMIX_MONITOR_FILE_MODIFY;
    else if (strcmp(what, "heartbeat") && strcmp(what, "beats"))
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
    if (!strcmp(what, "beats")) {
        for (int i = 0; i < 35; i++) {
            if (me.rank == 0)
                PMIx_Heartbeat();
            usleep(200000);
        }
        pthread_mutex_lock(&lock);
        if (me.rank != 0 && alerts[0] > 0)
            fail("an alert of one that beats");
        pthread_mutex_unlock(&lock);
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
