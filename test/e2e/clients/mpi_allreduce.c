/* Everybody's numbers summed up at everybody, in sizes that make the library change its algorithm. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 1; n <= 1 << 16; n <<= 8) {
        long *in = malloc(n * sizeof(long)), *out = malloc(n * sizeof(long));
        for (int i = 0; i < n; i++)
            in[i] = rank + i;
        MPI_Allreduce(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            if (out[i] != (long)size * (size - 1) / 2 + (long)size * i) {
                printf("FAIL %d: element %d of %d is %ld\n", rank, i, n, out[i]);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        free(in);
        free(out);
    }
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
