/* Two halves of the job meet in an inter-communicator and exchange numbers across it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        printf("FAIL %d: needs 2 ranks\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int upper = rank >= size / 2, mine = rank, sum = 0, others = 0;
    MPI_Comm half, across;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 7, &across);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, across); /* the sum of the other half */
    for (int p = 0; p < size; p++)
        if ((p >= size / 2) != upper)
            others += p;
    if (sum != others) {
        printf("FAIL %d: the other half sums up to %d instead of %d\n", rank, sum, others);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
