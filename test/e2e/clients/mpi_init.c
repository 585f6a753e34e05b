/* MPI_Init, who am I, MPI_Finalize: the start of every MPI program. With "bare" only what it is linked with. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    if (argc > 1 && !strcmp(argv[1], "bare"))
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    printf("rank %d of %d on %s\n", rank, size, name);
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
