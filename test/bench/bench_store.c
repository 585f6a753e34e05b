/* What the library's store of a host costs its clients: in shared memory, or a copy of each process' own (modex.store).
 * usage: bench_store [BYTES]
 * Each rank posts that many bytes (64 without), all fence, collecting, and each reads those of all others once; then
 * each asks for the host of every rank, as MPI libraries do. Rank 0 prints one line:
 *   store INIT_US FENCE_US READ_US HOSTS_US CLIENT_KIB SERVER_KIB
 * PMIx_Init, the fence from its first rank in to its last one out, a value read and a host named (means of one rank's),
 * and the memory that rank 0 has for itself, and the server of its host. */
#include "client.h"

#include <ctype.h>
#include <dirent.h>

/* KiB that a process alone has in memory. */
static long own_memory(const char *pid) {
    char path[300], line[200];
    long sum = 0, kib;
    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_%*[^:]: %ld", &kib) == 1)
            sum += kib;
    if (file)
        fclose(file);
    return sum;
}

/* Of the daemons here that the kernel lets this process look at: the host of another one is in its own namespace. */
static long servers_memory(void) {
    long sum = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *each; processes && (each = readdir(processes));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/%s/comm", each->d_name);
        FILE *file = isdigit(each->d_name[0]) ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        if (fscanf(file, "%31s", name) == 1 && !strcmp(name, "pmixhostd"))
            sum += own_memory(each->d_name);
        fclose(file);
    }
    if (processes)
        closedir(processes);
    return sum;
}

int main(int argc, char **argv) {
    size_t bytes = argc > 1 ? (size_t)atol(argv[1]) : 64;
    double before = now();
    begin(300);
    double init = now() - before;
    char *data = malloc(bytes + 1);
    for (size_t at = 0; at < bytes; at++)
        data[at] = (char)random();
    put_bytes("bench", data, bytes);
    must(PMIx_Commit());
    fence_collect();
    put_bytes("again", data, bytes);
    must(PMIx_Commit());
    before = now();
    fence_collect();
    double fence = now() - before;
    before = now();
    for (uint32_t rank = 0; rank < me.size; rank++) {
        pmix_value_t *value;
        if (!get(rank, "bench", &value) || value->type != PMIX_BYTE_OBJECT || value->data.bo.size != bytes)
            fail("no data of rank %u", rank);
        PMIX_VALUE_RELEASE(value);
    }
    double read_all = now() - before;
    before = now();
    for (uint32_t rank = 0; rank < me.size; rank++)
        (void)is_on_host(rank, "");
    double hosts = now() - before;
    fence_collect();
    if (me.rank == 0)
        say("store %.0f %.0f %.2f %.2f %ld %ld", init * 1e6, fence * 1e6, read_all * 1e6 / me.size,
            hosts * 1e6 / me.size, own_memory("self"), servers_memory());
    fence_collect();
    pass();
}
