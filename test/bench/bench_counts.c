/* How many system calls and instructions the kernel counts, because counts are sturdier than times where many hosts
 * share a few processors: of the whole machine, or of all threads that processes of the given names have here when this
 * begins.
 * usage: bench_counts [NAME ...]      as root
 * For each line of standard input it prints "SYSCALLS;INSTRUCTIONS" since it began; in the place of what cannot be read
 * (no tracefs; a processor without counters, as in many virtual machines) it says why.
 * While it runs each system call of the machine takes longer: what is counted is not to be timed. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most = 4096 };

/* One kind of event, with a descriptor for each thread or processor. */
struct counter {
    const char *needs;
    struct perf_event_attr event;
    int fds[most];
    int count;
    int error; /* why it cannot be read; 0: it can */
};

static void count_in(struct counter *counter, pid_t thread, int cpu) {
    if (counter->error)
        return;
    int fd = (int)syscall(SYS_perf_event_open, &counter->event, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0 && counter->count < most)
        counter->fds[counter->count++] = fd;
    else if (fd >= 0 || (errno != ENODEV && errno != ESRCH)) /* a processor that is off, a thread that has ended */
        counter->error = fd >= 0 ? EMFILE : errno;
}

static void print_sum(const struct counter *counter) {
    uint64_t sum = 0, each;
    for (int i = 0; i < counter->count; i++)
        if (read(counter->fds[i], &each, sizeof each) == sizeof each)
            sum += each;
    if (counter->error)
        printf("%s: %s", counter->needs, strerror(counter->error));
    else if (counter->count == 0)
        printf("no such process");
    else
        printf("%llu", (unsigned long long)sum);
}

/* The tracepoint that each system call passes; errno has why there is none. Mounts tracefs for this process alone. */
static bool find_syscalls(struct perf_event_attr *event) {
    unsigned long long id;
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
        return false;
    FILE *file = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "r");
    if (!file)
        return false;
    bool found = fscanf(file, "%llu", &id) == 1;
    fclose(file);
    event->config = id;
    return found;
}

static bool is_named(const char *pid, char **names) {
    char path[600], name[32] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = isdigit(pid[0]) ? fopen(path, "r") : NULL;
    bool named = false;
    if (file && fscanf(file, "%31s", name) == 1)
        for (; *names && !named; names++)
            named = !strcmp(name, *names);
    if (file)
        fclose(file);
    return named;
}

static void count_threads(struct counter *counters, const char *pid) {
    char path[600];
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *each; threads && (each = readdir(threads));)
        for (int i = 0; i < 2 && isdigit(each->d_name[0]); i++)
            count_in(&counters[i], (pid_t)atol(each->d_name), -1);
    if (threads)
        closedir(threads);
}

int main(int argc, char **argv) {
    static struct counter counters[2] = {
        {.needs = "tracefs", .event = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(struct perf_event_attr)}},
        {.needs = "the processor's counters",
         .event = {.type = PERF_TYPE_HARDWARE,
                   .size = sizeof(struct perf_event_attr),
                   .config = PERF_COUNT_HW_INSTRUCTIONS}},
    };
    if (!find_syscalls(&counters[0].event))
        counters[0].error = errno ? errno : ENOENT;
    if (argc > 1) {
        DIR *processes = opendir("/proc");
        for (struct dirent *each; processes && (each = readdir(processes));)
            if (is_named(each->d_name, argv + 1))
                count_threads(counters, each->d_name);
        if (processes)
            closedir(processes);
    } else {
        for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
            for (int i = 0; i < 2; i++)
                count_in(&counters[i], -1, cpu);
    }
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        print_sum(&counters[0]);
        printf(";");
        print_sum(&counters[1]);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
