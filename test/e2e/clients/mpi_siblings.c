/* MPI's dynamic processes beyond parent and child.
 *
 *   mpi_siblings siblings N      the job spawns two jobs of N processes, one after the other; those of the
 *                              second meet the first ones in an inter-communicator made over the parent
 *   mpi_siblings shared N        the job spawns N processes and merges: MPI_COMM_TYPE_SHARED joins those of
 *                              parents and children that are on one host
 * The children are the same program: mpi_siblings first|second|sharer.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank = -1, size;

static void fail(const char *why) {
    printf("FAIL %d: %s\n", rank, why);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Comm spawn(const char *self, char *word, int n) {
    MPI_Comm inter;
    char *arguments[] = {word, NULL};
    if (MPI_Comm_spawn(self, arguments, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE) !=
        MPI_SUCCESS)
        fail("MPI_Comm_spawn");
    return inter;
}

static MPI_Comm merge(MPI_Comm inter, int high) {
    MPI_Comm all;
    MPI_Intercomm_merge(inter, high, &all);
    return all;
}

static void part(MPI_Comm all, MPI_Comm inter) {
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

/* `local`, led by its first rank, and the other group, whose leader has that rank in `over`. */
static void meet(MPI_Comm local, MPI_Comm over, int leader, int high, int wanted) {
    MPI_Comm inter, all;
    int n, one = 1, sum = 0, me;
    MPI_Intercomm_create(local, 0, over, leader, 7, &inter);
    MPI_Intercomm_merge(inter, high, &all);
    MPI_Comm_size(all, &n);
    MPI_Comm_rank(all, &me);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    if (n != wanted || sum != n)
        fail("allreduce over the family");
    /* Everyone says something to everyone. */
    for (int step = 1; step < n; step++) {
        int out = me, in = -1, to = (me + step) % n, from = (me + n - step) % n;
        MPI_Sendrecv(&out, 1, MPI_INT, to, 3, &in, 1, MPI_INT, from, 3, all, MPI_STATUS_IGNORE);
        if (in != from)
            fail("a message of one of the family");
    }
    part(all, inter);
}

/* Who is on one host, by name and by what MPI makes of it. */
static void share(MPI_Comm all) {
    enum { length = MPI_MAX_PROCESSOR_NAME };
    char host[length] = "", *hosts;
    const char *name = getenv("PMIXHOST_HOST"); /* of a virtual host */
    int n, n_here, same = 0, total;
    MPI_Comm here;
    MPI_Comm_size(all, &total);
    if (name)
        snprintf(host, sizeof host, "%s", name);
    else
        MPI_Get_processor_name(host, &n);
    hosts = calloc((size_t)total, length);
    MPI_Allgather(host, length, MPI_CHAR, hosts, length, MPI_CHAR, all);
    for (int i = 0; i < total; i++)
        same += !strcmp(hosts + (size_t)i * length, host);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &n_here);
    if (n_here != same) {
        char why[128 + length];
        snprintf(why, sizeof why, "%d processes are on %s, MPI_COMM_TYPE_SHARED has %d", same, host, n_here);
        fail(why);
    }
    int *memory, one = 1, sum = 0;
    MPI_Win window;
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, here, &memory, &window);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, here);
    if (sum != n_here)
        fail("allreduce on the host");
    MPI_Win_free(&window);
    MPI_Comm_free(&here);
    free(hosts);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    alarm(140);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm all = merge(parent, 1);
        int total;
        MPI_Comm_size(all, &total);
        if (!strcmp(what, "first"))
            meet(all, MPI_COMM_NULL, 0, 0, total + size);
        else if (!strcmp(what, "second"))
            meet(MPI_COMM_WORLD, all, 0, 1, total + size);
        else
            share(all);
        part(all, parent);
        MPI_Finalize();
        printf("child ok\n");
        return 0;
    }
    if (!strcmp(what, "siblings") && n > 0) {
        MPI_Comm first = spawn(argv[0], "first", n), with_first = merge(first, 0);
        MPI_Comm second = spawn(argv[0], "second", n), with_second = merge(second, 0);
        meet(with_first, with_second, size, 0, size + 2 * n);
        part(with_first, first);
        part(with_second, second);
    } else if (!strcmp(what, "shared") && n > 0) {
        MPI_Comm inter = spawn(argv[0], "sharer", n), all = merge(inter, 0);
        share(all);
        part(all, inter);
    } else {
        fail("what?");
    }
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
