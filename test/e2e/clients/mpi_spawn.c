/* MPI_Comm_spawn: children join their parents in one communicator and add up a number there; then the
 * two jobs part, and the parents do it again with MPI_Comm_spawn_multiple.
 * usage: mpi_spawn [CHILDREN]. Prints "parent R of N" and "child R of N" for each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void meet(MPI_Comm inter, int is_child) {
    MPI_Comm all;
    int rank, size, one = 1, sum = 0;
    MPI_Intercomm_merge(inter, is_child, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    if (sum != size)
        MPI_Abort(MPI_COMM_WORLD, 1);
    printf("%s %d of %d\n", is_child ? "child" : "parent", rank, size);
    fflush(stdout);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv) {
    MPI_Comm parent, inter;
    int count = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        meet(parent, 1);
    } else {
        char *commands[2] = {argv[0], argv[0]};
        int counts[2] = {1, 1};
        MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        meet(inter, 0);
        MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &inter,
                                MPI_ERRCODES_IGNORE);
        meet(inter, 0);
    }
    MPI_Finalize();
    return 0;
}
