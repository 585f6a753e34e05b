/* A number goes round all ranks, ten times: every rank reaches its neighbours. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 10; round++) {
        if (size == 1) {
            number++;
            continue;
        }
        if (rank != 0) {
            int got;
            MPI_Recv(&got, 1, MPI_INT, rank - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            number = got + 1;
        }
        MPI_Send(&number, 1, MPI_INT, (rank + 1) % size, round, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&number, 1, MPI_INT, size - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            number++;
        }
    }
    if (rank == 0 && number != 10 * size) {
        printf("FAIL %d: the number is %d instead of %d\n", rank, number, 10 * size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
