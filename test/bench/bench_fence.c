/* How long a fence takes with what belongs to it, and what the servers of rank 0's host work for it. A time is from one
 * fence's end to the next one's at rank 0. That is a whole cycle of all ranks, however they share the waiting between
 * put, commit and fence: each begins its own when the fence before has ended, and no fence ends before all are in it
 * (but the in-tree plugin's without data, which is no barrier).
 * usage: bench_fence COUNT [hold | BYTES ...]
 * Prints one line for each kind: "fence KIND MEDIAN_US LOWEST_US CPU_US SWITCHES"; the latter two are of each fence.
 *   nodata   without data         empty    collecting, nothing to collect
 *   64, 4096 put, commit and fence, collecting so many bytes of each rank; with BYTES these alone, of which nothing can
 *            be compressed
 * With "hold" rank 0 says "begin KIND FENCES" before so many fences and "end KIND FENCES" after them, and waits each
 * time for a line of standard input, so that who has the right to it can count what the servers do. */
#include "client.h"

#include <ctype.h>
#include <dirent.h>

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What all threads of processes that host PMIx servers have had until now. */
struct work {
    double cpu;      /* microseconds */
    double switches; /* from one thread to another, voluntary or not */
};

/* The sum of the numbers behind these words in a file of a thread; with "" the first one. */
static double numbers(const char *pid, const char *thread, const char *name, const char *const *words) {
    char path[900], line[256];
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%s/task/%s/%s", pid, thread, name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        for (const char *const *word = words; *word; word++)
            if (!strncmp(line, *word, strlen(*word)))
                sum += strtod(line + strlen(*word), NULL);
    if (file)
        fclose(file);
    return sum;
}

static void add_work_of(const char *pid, struct work *sum) {
    char path[600], name[32] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    bool server = fscanf(file, "%31s", name) == 1 && (!strcmp(name, "pmixhostd") || !strcmp(name, "slurmstepd"));
    fclose(file);
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *threads = server ? opendir(path) : NULL;
    for (struct dirent *each; threads && (each = readdir(threads));) {
        if (!isdigit(each->d_name[0]))
            continue;
        sum->cpu += numbers(pid, each->d_name, "schedstat", (const char *const[]){"", NULL}) / 1000;
        sum->switches +=
            numbers(pid, each->d_name, "status",
                    (const char *const[]){"voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:", NULL});
    }
    if (threads)
        closedir(threads);
}

static struct work servers_work(void) {
    struct work sum = {0, 0};
    DIR *processes = opendir("/proc");
    for (struct dirent *each; processes && (each = readdir(processes));)
        if (isdigit(each->d_name[0]))
            add_work_of(each->d_name, &sum);
    if (processes)
        closedir(processes);
    return sum;
}

static bool held;

static void hold(const char *what, const char *kind, unsigned fences) {
    if (!held || me.rank != 0)
        return;
    say("%s %s %u", what, kind, fences);
    me.doing = "standard input";
    for (char byte = 0; byte != '\n';)
        if (read(STDIN_FILENO, &byte, 1) != 1)
            fail("nobody says that it goes on");
}

static void measure(const char *kind, unsigned count, bool collect, size_t bytes) {
    static double took[10000];
    char *data = calloc(1, bytes + 1);
    struct work before = {0, 0};
    hold("begin", kind, count + 1);
    if (me.rank == 0)
        before = servers_work();
    must(fence_with(NULL, 0, collect ? COLLECT : 0, 0)); /* all begin here */
    double last = now();
    for (unsigned i = 0; i < count; i++) {
        if (bytes) {
            if (bytes > 4096 && i == 0)
                for (size_t at = 1; at < bytes; at++)
                    data[at] = (char)random();
            /* the same key, because a collecting fence carries all that was ever committed */
            data[0] = (char)i;
            put_bytes("bench", data, bytes);
            must(PMIx_Commit());
        }
        must(fence_with(NULL, 0, collect ? COLLECT : 0, 0));
        double end = now();
        took[i] = (end - last) * 1e6;
        last = end;
    }
    free(data);
    qsort(took, count, sizeof(*took), by_size);
    if (me.rank == 0) {
        struct work after = servers_work();
        say("fence %s %.1f %.1f %.1f %.1f", kind, took[count / 2], took[0], (after.cpu - before.cpu) / (count + 1),
            (after.switches - before.switches) / (count + 1));
    }
    hold("end", kind, count + 1);
}

int main(int argc, char **argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    begin(300);
    if (count < 1 || count > 10000)
        fail("COUNT is 1 to 10000");
    srandom(me.rank + 1);
    measure("warm", 5, true, 0);
    held = argc > 2 && !strcmp(argv[2], "hold");
    for (int i = 2; i < argc && !held; i++)
        measure(argv[i], count, true, (size_t)atol(argv[i]));
    if (argc > 2 && !held)
        pass();
    measure("nodata", count, false, 0);
    measure("empty", count, true, 0);
    measure("64", count, true, 64);
    measure("4096", count, true, 4096);
    pass();
}
