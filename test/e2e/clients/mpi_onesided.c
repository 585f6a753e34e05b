/* Each rank puts its number into every other's window. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    long *window;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(size * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    for (int i = 0; i < size; i++)
        window[i] = -1;
    long mine = 100 + rank;
    MPI_Win_fence(0, win);
    for (int p = 0; p < size; p++)
        MPI_Put(&mine, 1, MPI_LONG, p, rank, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    for (int p = 0; p < size; p++)
        if (window[p] != 100 + p) {
            printf("FAIL %d: window[%d] is %ld\n", rank, p, window[p]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    MPI_Win_free(&win);
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
