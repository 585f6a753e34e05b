/* A job that hangs: rank 0 waits for a file, the others for rank 0. With the file it goes on and ends.
 * mpi_hang FILE [RANK]: RANK lets nobody look at it, as a setuid program does not.
 * mpi_hang FILE wrong: the last rank is in another collective than all others, for ever.
 * mpi_hang FILE crash: the last rank writes where there is nothing, while the others wait for it. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static __attribute__((noinline)) void waits_for_a_word(const char *file) {
    while (access(file, F_OK) != 0)
        usleep(20000);
}

static __attribute__((noinline)) void meets_the_others(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static __attribute__((noinline)) void in_a_broadcast(void) {
    int word = 0;
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static __attribute__((noinline)) void goes_wrong(int rank) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        in_a_broadcast();
    else
        meets_the_others();
}

static __attribute__((noinline)) void writes_nowhere(int *volatile nowhere) {
    *nowhere = 1;
}

static __attribute__((noinline)) void crashes(int rank) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        writes_nowhere(NULL);
    meets_the_others();
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
    bool wrong = argc > 2 && !strcmp(argv[2], "wrong"), crash = argc > 2 && !strcmp(argv[2], "crash");
    if (argc > 2 && !wrong && !crash && atoi(argv[2]) == rank)
        prctl(PR_SET_DUMPABLE, 0);
    printf("there %d\n", rank);
    fflush(stdout);
    if (wrong)
        goes_wrong(rank);
    if (crash)
        crashes(rank);
    int done = works(rank, argc > 1 ? argv[1] : "/");
    MPI_Finalize();
    printf("ok %d\n", done);
    return 0;
}
