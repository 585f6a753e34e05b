/* What the test clients of PMIx_Job_control share: to ask for it, and to notice the signals that it sends. */
#ifndef TEST_E2E_CONTROL_H
#define TEST_E2E_CONTROL_H

#include "client.h"

static inline void expect(const char *what, pmix_status_t got, pmix_status_t wanted) {
    if (got != wanted)
        fail("%s: %s, not %s", what, status_name(got), status_name(wanted));
}

/* --- asking -------------------------------------------------------------------------------------*/

static inline pmix_status_t ask(const pmix_proc_t *targets, size_t n, const pmix_info_t *infos, size_t ninfos) {
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    me.doing = "PMIx_Job_control";
    return PMIx_Job_control(targets, n, infos, ninfos, &results, &nresults);
}

static inline pmix_status_t ask_flag(const pmix_proc_t *targets, size_t n, const char *key) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
    return ask(targets, n, &info, 1);
}

static inline pmix_status_t ask_signal(const pmix_proc_t *targets, size_t n, int number) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    return ask(targets, n, &info, 1);
}

/* --- signals ------------------------------------------------------------------------------------*/

static volatile sig_atomic_t caught[65];

static inline void on_signal(int number) {
    caught[number]++;
}

static inline void catch (int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (sigaction(number, &action, NULL))
        fail("sigaction(%d): %s", number, strerror(errno));
}

static inline void wait_for_signal(int number) {
    me.doing = number == SIGUSR2 ? "waiting for SIGUSR2" : "waiting for a signal";
    while (!caught[number])
        rest();
}

/* --- a process that stands still ----------------------------------------------------------------*/

/* Adds a byte to that file. The process that is to stand still calls it again and again. */
static inline void tick(const char *path) {
    static int fd = -1;
    if (fd < 0)
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, ".", 1) != 1)
        fail("%s: %s", path, strerror(errno));
    rest();
}

static inline off_t ticks(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (fd >= 0)
        close(fd);
    return size;
}

/* Pauses the process that ticks in that file when it has begun, and resumes it when it has stood still. */
static inline void pause_and_resume(const pmix_proc_t *victim, const char *path) {
    off_t at;
    me.doing = "waiting for ticks";
    while (ticks(path) < 5)
        rest();
    expect("pause", ask_flag(victim, 1, PMIX_JOB_CTRL_PAUSE), PMIX_SUCCESS);
    do { /* a stop takes effect a moment after kill(2) has returned */
        at = ticks(path);
        for (int i = 0; i < 100; i++)
            rest();
    } while (ticks(path) != at);
    expect("resume", ask_flag(victim, 1, PMIX_JOB_CTRL_RESUME), PMIX_SUCCESS);
    me.doing = "waiting for ticks after the resume";
    while (ticks(path) < at + 5)
        rest();
}

#endif
