/* A job that hangs: rank 0 waits for a file, the others for rank 0. With the file it goes on and ends.
 * mpi_hang FILE [RANK]: RANK lets nobody look at it, as a setuid program does not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static __attribute__((noinline)) void waits_for_a_word(const char *file) {
    while (access(file, F_OK) != 0)
        usleep(20000);
}

static __attribute__((noinline)) void meets_the_others(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static __attribute__((noinline)) int works(int rank, const char *file) {
    if (rank == 0)
        waits_for_a_word(file);
    meets_the_others();
    return rank;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && atoi(argv[2]) == rank)
        prctl(PR_SET_DUMPABLE, 0);
    printf("there %d\n", rank);
    fflush(stdout);
    int done = works(rank, argc > 1 ? argv[1] : "/");
    MPI_Finalize();
    printf("ok %d\n", done);
    return 0;
}
