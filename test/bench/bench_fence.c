/* How long a fence takes with what belongs to it, and what the servers of rank 0's host work for it. All ranks do the
 * same in turn, so that the time from one fence's end to the next one's is that of all, however they share the waiting.
 * usage: bench_fence COUNT [BYTES ...]
 * Prints one line for each kind: "fence KIND MEDIAN_US LOWEST_US CPU_US".
 *   nodata   without data         empty    collecting, nothing to collect
 *   64, 4096 put, commit and fence, collecting so many bytes of each rank; with BYTES these alone, of which nothing can
 *            be compressed */
#include "client.h"

#include <ctype.h>
#include <dirent.h>

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* In microseconds, of all threads of a process that hosts PMIx servers. */
static double cpu_of(const char *pid) {
    double sum = 0;
    char path[600], name[32] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    bool server = fscanf(file, "%31s", name) == 1 && (!strcmp(name, "pmixhostd") || !strcmp(name, "slurmstepd"));
    fclose(file);
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *threads = server ? opendir(path) : NULL;
    for (struct dirent *each; threads && (each = readdir(threads));) {
        unsigned long long nanoseconds;
        snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pid, each->d_name);
        if (!isdigit(each->d_name[0]) || !(file = fopen(path, "r")))
            continue;
        if (fscanf(file, "%llu", &nanoseconds) == 1)
            sum += (double)nanoseconds / 1000;
        fclose(file);
    }
    if (threads)
        closedir(threads);
    return sum;
}

static double servers_cpu(void) {
    double sum = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *each; processes && (each = readdir(processes));)
        if (isdigit(each->d_name[0]))
            sum += cpu_of(each->d_name);
    if (processes)
        closedir(processes);
    return sum;
}

static void measure(const char *kind, unsigned count, bool collect, size_t bytes) {
    static double took[10000];
    char *data = calloc(1, bytes + 1);
    double cpu = me.rank == 0 ? servers_cpu() : 0;
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
    if (me.rank == 0)
        say("fence %s %.1f %.1f %.1f", kind, took[count / 2], took[0], (servers_cpu() - cpu) / (count + 1));
}

int main(int argc, char **argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    begin(300);
    if (count < 1 || count > 10000)
        fail("COUNT is 1 to 10000");
    srandom(me.rank + 1);
    measure("warm", 5, true, 0);
    for (int i = 2; i < argc; i++)
        measure(argv[i], count, true, (size_t)atol(argv[i]));
    if (argc > 2)
        pass();
    measure("nodata", count, false, 0);
    measure("empty", count, true, 0);
    measure("64", count, true, 64);
    measure("4096", count, true, 4096);
    pass();
}
