/* A family of jobs, none of which says MPI_Comm_disconnect: each process spawns up to two children with
 * MPI_COMM_SELF, exchanges a message with each, and all finalize in their own time.
 * usage: mpi_tree DEPTH. Prints "born LEVEL" and "done LEVEL" for each process; there are 2^(DEPTH+1)-1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Comm parent, child[2];
    MPI_Request answers[2];
    int depth = argc > 1 ? atoi(argv[1]) : 2, level = argc > 2 ? atoi(argv[2]) : 0, got[2], i, n = 0, sum = 1;
    char first[16], second[16], *arguments[] = {first, second, NULL};
    alarm(140);
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    printf("born %d\n", level);
    fflush(stdout);
    if (parent != MPI_COMM_NULL)
        MPI_Recv(&i, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    if (level < depth) {
        snprintf(first, sizeof first, "%d", depth);
        snprintf(second, sizeof second, "%d", level + 1);
        for (; n < 2; n++) {
            MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child[n], MPI_ERRCODES_IGNORE);
            MPI_Send(&n, 1, MPI_INT, 0, 1, child[n]);
            MPI_Irecv(&got[n], 1, MPI_INT, 0, 2, child[n], &answers[n]);
        }
    }
    MPI_Waitall(n, answers, MPI_STATUSES_IGNORE);
    for (i = 0; i < n; i++)
        sum += got[i];
    if (parent != MPI_COMM_NULL)
        MPI_Send(&sum, 1, MPI_INT, 0, 2, parent);
    else
        printf("there were %d\n", sum);
    printf("done %d\n", level);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
