/* For test/bench/spawn: the time from MPI_Comm_spawn to the first message of a child.
 * usage: mpi_spawn_time COUNT. Prints "mpi MILLISECONDS". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Comm parent, inter;
    int byte = 0, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0)
            MPI_Send(&byte, 1, MPI_INT, 0, 0, parent);
        MPI_Comm_disconnect(&parent);
    } else {
        double began = MPI_Wtime();
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, argc > 1 ? atoi(argv[1]) : 1, info, 0, MPI_COMM_SELF, &inter,
                       MPI_ERRCODES_IGNORE);
        MPI_Recv(&byte, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        printf("mpi %.3f\n", (MPI_Wtime() - began) * 1e3);
        fflush(stdout);
        MPI_Info_free(&info);
        MPI_Comm_disconnect(&inter);
    }
    MPI_Finalize();
    return 0;
}
