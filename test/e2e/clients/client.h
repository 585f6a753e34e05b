/* What the test clients share. A client is one small program that knows only pmix.h, so that it can
 * be run under any PMIx host. Each process of the job ends with exactly one verdict line,
 *
 *     ok RANK             or            FAIL RANK: reason
 *
 * and exits 0 or 1. No client waits for ever: begin() arms an alarm that gives the verdict
 * "FAIL RANK: still waiting in ..." and exits 3, so a hang is a result like any other. With $CLIENT_STACKS
 * it first shows where it waits.
 */
#ifndef TEST_E2E_CLIENT_H
#define TEST_E2E_CLIENT_H

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pmix.h>

static struct {
    pmix_proc_t proc;
    uint32_t rank;
    uint32_t size;
    const char *doing; /* for the alarm's verdict */
    int low_fd;        /* lower than PMIx' own */
} me = {.rank = UINT32_MAX, .doing = "start", .low_fd = -1};

/* A verdict also goes to $CLIENT_DIR/verdicts: srun 22.05 loses the last lines of a step in which a
 * task was killed (with --mpi=none as well). */
static inline void keep(const char *line, size_t size) {
    char path[4096];
    const char *dir = getenv("CLIENT_DIR");
    if (!dir || (strncmp(line, "ok ", 3) && strncmp(line, "FAIL ", 5)))
        return;
    snprintf(path, sizeof(path), "%s/verdicts", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) /* another user's job shares the directory */
        return;
    if (write(fd, line, size) < 0)
        _exit(4);
    close(fd);
}

/* One line, one write(2): lines of different processes do not mix. */
static inline void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void say(const char *fmt, ...) {
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    if ((size_t)n > sizeof(line) - 2)
        n = sizeof(line) - 2;
    line[n++] = '\n';
    keep(line, n);
    if (write(STDOUT_FILENO, line, n) != n)
        _exit(4);
}

/* Gives the standard's names: what PMIx_Error_string says differs between versions of the library. */
static inline const char *status_name(pmix_status_t status) {
#define NAME(status)                                                                                                   \
    case status:                                                                                                       \
        return #status
    switch (status) {
        NAME(PMIX_SUCCESS);
        NAME(PMIX_ERROR);
        NAME(PMIX_OPERATION_IN_PROGRESS);
        NAME(PMIX_OPERATION_SUCCEEDED);
        NAME(PMIX_ERR_BAD_PARAM);
        NAME(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES);
        NAME(PMIX_ERR_DUPLICATE_KEY);
        NAME(PMIX_ERR_EXISTS);
        NAME(PMIX_ERR_EXIT_NONZERO_TERM);
        NAME(PMIX_ERR_IOF_COMPLETE);
        NAME(PMIX_ERR_IOF_FAILURE);
        NAME(PMIX_ERR_JOB_ALLOC_FAILED);
        NAME(PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
        NAME(PMIX_ERR_JOB_EXE_NOT_FOUND);
        NAME(PMIX_ERR_JOB_FAILED_TO_LAUNCH);
        NAME(PMIX_ERR_JOB_TERMINATED);
        NAME(PMIX_ERR_JOB_WDIR_NOT_FOUND);
        NAME(PMIX_ERR_LOST_CONNECTION);
        NAME(PMIX_ERR_NOT_AVAILABLE);
        NAME(PMIX_ERR_NOT_FOUND);
        NAME(PMIX_ERR_NOT_SUPPORTED);
        NAME(PMIX_ERR_NO_PERMISSIONS);
        NAME(PMIX_ERR_OUT_OF_RESOURCE);
        NAME(PMIX_ERR_PARTIAL_SUCCESS);
        NAME(PMIX_ERR_PROC_ABORTED);
        NAME(PMIX_ERR_PROC_TERM_WO_SYNC);
        NAME(PMIX_ERR_RESOURCE_BUSY);
        NAME(PMIX_ERR_TIMEOUT);
        NAME(PMIX_ERR_UNREACH);
    default: {
        static _Thread_local char named[64];
        snprintf(named, sizeof named, "%s", PMIx_Error_string(status));
        if (strstr(named, "NOT FOUND") && status != PMIX_ERR_NOT_FOUND)
            snprintf(named, sizeof named, "status %d", (int)status);
        return named;
    }
    }
#undef NAME
}

static inline void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static inline void fail(const char *fmt, ...) {
    char reason[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    say("FAIL %d: %s", (int)me.rank, reason);
    _exit(1);
}

#define must(call)                                                                                                     \
    do {                                                                                                               \
        me.doing = #call;                                                                                              \
        pmix_status_t rc_ = (call);                                                                                    \
        if (rc_ != PMIX_SUCCESS)                                                                                       \
            fail("%s: %s", #call, status_name(rc_));                                                                   \
    } while (0)

/* CLOCK_MONOTONIC is one clock for all hosts of the test cluster: they are one machine. */
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

extern char **environ; /* which headers have for _GNU_SOURCE alone */

/* Where it waits, and what its connections hold, for hangs that do not come when they are looked for. Not by
 * fork(), which takes locks that the interrupted thread may hold. */
static inline void show_stacks(void) {
    char look[] = "{ timeout 20 gdb -p \"$1\" -batch -ex 'thread apply all bt 12'; ss -tnpi | grep -A 1 \"pid=$1,\"; } "
                  "2>/dev/null </dev/null | sed \"s/^/# $1: /\"";
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    char *words[] = {"sh", "-c", look, "sh", pid, NULL};
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pid_t child;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0)
        waitpid(child, NULL, 0);
}

static inline void on_alarm(int sig) {
    (void)sig;
    char line[256];
    int n = snprintf(line, sizeof(line), "FAIL %d: still waiting in %s\n", (int)me.rank, me.doing);
    keep(line, n);
    if (write(STDOUT_FILENO, line, n) < 0)
        _exit(4);
    if (getenv("CLIENT_STACKS"))
        show_stacks();
    _exit(3);
}

static inline void watch(unsigned seconds) {
    const char *scale = getenv("CLIENT_LIMIT"); /* seconds, for slow machines and sanitizers */
    signal(SIGALRM, on_alarm);
    alarm(scale ? (unsigned)atoi(scale) : seconds);
}

static inline bool get(uint32_t rank, const char *key, pmix_value_t **value) {
    pmix_proc_t p = me.proc;
    p.rank = rank;
    me.doing = key;
    return PMIx_Get(&p, key, NULL, 0, value) == PMIX_SUCCESS;
}

static inline void begin(unsigned limit_seconds) {
    watch(limit_seconds);
    me.low_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    must(PMIx_Init(&me.proc, NULL, 0));
    me.rank = me.proc.rank;
    pmix_value_t *v;
    if (!get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &v))
        fail("no PMIX_JOB_SIZE");
    me.size = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
}

static inline void pass(void) __attribute__((noreturn));
static inline void pass(void) {
    must(PMIx_Finalize(NULL, 0));
    say("ok %d", (int)me.rank);
    exit(0);
}

static inline void need(uint32_t ranks) {
    if (me.size < ranks)
        fail("needs %u ranks, there are %u", ranks, me.size);
}

/* Pauses between two looks at what nobody is told of. */
static inline void rest(void) {
    struct timespec t = {.tv_nsec = 2000000};
    nanosleep(&t, NULL);
}

/* Waits for a file that another process, or the test, makes. */
static inline void await_file(const char *path) {
    me.doing = "waiting for a file";
    while (access(path, F_OK) != 0)
        rest();
}

/* --- processes ----------------------------------------------------------------------------------*/

static inline pmix_proc_t process(const char *nspace, uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    return proc;
}

/* The ranks of this job but that one (me.size: all), in order. */
static inline pmix_proc_t *all_but(uint32_t rank, size_t *n) {
    pmix_proc_t *procs = calloc(me.size, sizeof(*procs));
    *n = 0;
    for (uint32_t r = 0; r < me.size; r++)
        if (r != rank)
            procs[(*n)++] = process(me.proc.nspace, r);
    return procs;
}

static inline bool on_my_host(uint32_t rank) {
    pmix_value_t *v = NULL;
    if (!get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, &v) || v->type != PMIX_STRING)
        fail("no PMIX_LOCAL_PEERS");
    bool found = false;
    for (const char *at = v->data.string; at && !found; at = strchr(at, ',')) {
        at += *at == ',';
        found = (uint32_t)strtoul(at, NULL, 10) == rank;
    }
    PMIX_VALUE_RELEASE(v);
    return found;
}

static inline bool is_on_host(uint32_t rank, const char *host) {
    pmix_value_t *v = NULL;
    if (!get(rank, PMIX_HOSTNAME, &v) || v->type != PMIX_STRING)
        fail("no PMIX_HOSTNAME of rank %u", rank);
    bool is = !strcmp(v->data.string, host);
    PMIX_VALUE_RELEASE(v);
    return is;
}

/* --- data ---------------------------------------------------------------------------------------*/

static inline void put_u64(const char *key, uint64_t n) {
    pmix_value_t v = {.type = PMIX_UINT64, .data.uint64 = n};
    must(PMIx_Put(PMIX_GLOBAL, key, &v));
}

static inline void put_bytes(const char *key, void *bytes, size_t size) {
    pmix_value_t v = {.type = PMIX_BYTE_OBJECT, .data.bo = {.bytes = bytes, .size = size}};
    must(PMIx_Put(PMIX_GLOBAL, key, &v));
}

/* `timeout` 0: without PMIX_TIMEOUT. */
static inline pmix_status_t get_timed(uint32_t rank, const char *key, int timeout, pmix_value_t **v) {
    pmix_proc_t p = me.proc;
    p.rank = rank;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &timeout, PMIX_INT);
    me.doing = key;
    pmix_status_t rc = PMIx_Get(&p, key, timeout ? &info : NULL, timeout ? 1 : 0, v);
    PMIX_INFO_DESTRUCT(&info);
    return rc;
}

static inline uint64_t get_u64(uint32_t rank, const char *key) {
    pmix_value_t *v = NULL;
    pmix_status_t rc = get_timed(rank, key, 0, &v);
    if (rc != PMIX_SUCCESS)
        fail("get %s of rank %u: %s", key, rank, status_name(rc));
    if (v->type != PMIX_UINT64)
        fail("get %s of rank %u: wrong type %d", key, rank, v->type);
    uint64_t n = v->data.uint64;
    PMIX_VALUE_RELEASE(v);
    return n;
}

static inline const pmix_info_t *find_info(const pmix_info_t *info, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&info[i], key))
            return &info[i];
    return NULL;
}

/* --- fences -------------------------------------------------------------------------------------*/

enum { COLLECT = 1, REQUIRED = 2 };

/* The general form: `procs` NULL means the whole namespace, `timeout` 0 none. */
static inline pmix_status_t fence_with(const pmix_proc_t *procs, size_t nprocs, int flags, int timeout) {
    pmix_info_t info[2];
    size_t n = 0;
    bool yes = true;
    if (flags & COLLECT) {
        PMIX_INFO_LOAD(&info[n], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        if (flags & REQUIRED)
            PMIX_INFO_REQUIRED(&info[n]);
        n++;
    }
    if (timeout) {
        PMIX_INFO_LOAD(&info[n], PMIX_TIMEOUT, &timeout, PMIX_INT);
        n++;
    }
    me.doing = "PMIx_Fence";
    return PMIx_Fence(procs, nprocs, n ? info : NULL, n);
}

static inline void fence(void) {
    must(fence_with(NULL, 0, 0, 0));
}
static inline void fence_collect(void) {
    must(fence_with(NULL, 0, COLLECT, 0));
}

static inline void fence_of_those_left(const pmix_proc_t *procs, size_t n, int timeout) {
    pmix_status_t rc = fence_with(procs, n, 0, timeout);
    if (rc != PMIX_SUCCESS)
        fail("the fence of those who are left: %s", status_name(rc));
}

/* --- calls that are answered later --------------------------------------------------------------*/

/* Waits, at most until the alarm, as every wait does. */
static inline void await(sem_t *what, const char *doing) {
    me.doing = doing;
    while (sem_wait(what) != 0 && errno == EINTR)
        ;
}

struct answer {
    sem_t came;
    pmix_status_t status;
    uint64_t number; /* of a PMIx_Get_nb with a uint64 value */
};

static inline void answer_init(struct answer *a) {
    sem_init(&a->came, 0, 0);
    a->status = PMIX_ERROR;
    a->number = 0;
}

static inline void answer_op(pmix_status_t status, void *cbdata) {
    struct answer *a = cbdata;
    a->status = status;
    sem_post(&a->came);
}

static inline void answer_value(pmix_status_t status, pmix_value_t *v, void *cbdata) {
    struct answer *a = cbdata;
    a->status = status;
    if (status == PMIX_SUCCESS && v && v->type == PMIX_UINT64)
        a->number = v->data.uint64;
    sem_post(&a->came);
}

/* The information that comes with it is not looked at. */
static inline void answer_info(pmix_status_t status, pmix_info_t *info, size_t n, void *cbdata,
                               pmix_release_cbfunc_t release, void *release_data) {
    (void)info, (void)n;
    if (release)
        release(release_data);
    answer_op(status, cbdata);
}

static inline pmix_status_t answer_wait(struct answer *a, const char *what) {
    await(&a->came, what);
    return a->status;
}

/* --- the end of a process ------------------------------------------------------------------------*/

/* Ends this process by a signal (kill, segv), or else with status 3, without PMIx_Finalize and without a core file. */
static inline void end_by(const char *how) __attribute__((noreturn));
static inline void end_by(const char *how) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "segv")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    _exit(3);
}

/* A file lock ends when its holder lets it go, at the latest with the process, and the kernel tells
 * those who wait for it, wherever they are: the hosts of a cluster have no common process numbers.
 * The file is in $CLIENT_DIR, a directory that all hosts see. */
static inline int lock_file(const char *name, int operation) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", getenv("CLIENT_DIR") ? getenv("CLIENT_DIR") : ".", name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        fail("%s: %s", path, strerror(errno));
    while (flock(fd, operation) != 0)
        if (errno != EINTR)
            fail("flock: %s", strerror(errno));
    return fd;
}

/* To be called by the one process that will end, before the others may call wait_for_death. A process
 * that ends closes its files in the order of their numbers, or in the opposite one. With one lock on
 * either side of PMIx' connection, that has been closed when both are free. */
static inline void show_life(void) {
    int fd = lock_file("life.low", LOCK_EX);
    if (dup2(fd, me.low_fd) < 0)
        fail("dup2: %s", strerror(errno));
    close(fd);
    lock_file("life.high", LOCK_EX);
}

static inline void wait_for_death(void) {
    me.doing = "waiting for the other process to end";
    close(lock_file("life.low", LOCK_SH));
    close(lock_file("life.high", LOCK_SH));
}

/* Marks that others wait for: held from `mark` until it is closed or the process ends. */
static inline int mark(const char *what, uint32_t rank) {
    char name[64];
    snprintf(name, sizeof(name), "%s.%u", what, rank);
    return lock_file(name, LOCK_EX);
}

static inline void wait_for_mark(const char *what, uint32_t rank) {
    char name[64];
    snprintf(name, sizeof(name), "%s.%u", what, rank);
    me.doing = "waiting for another process to come back";
    close(lock_file(name, LOCK_SH));
}

#endif
