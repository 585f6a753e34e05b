/* Two MPI programs that know each other by a published name only: accept and connect, a message each
 * way, an allreduce over both, disconnect; then once more with a new port.
 *
 *   mpi_connect accept | connect
 *   mpi_connect port                  accepts three times at one port, which it prints as "port NAME"
 *   mpi_connect to NAME               connects to that port three times
 *   mpi_connect lookup NAME           prints "found PORT", what is published under that name
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank = -1;

static void fail(const char *why) {
    printf("FAIL %d: %s\n", rank, why);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void talk(MPI_Comm inter, int low) {
    int theirs = -1, size, all, sum = 0, one = 1;
    MPI_Comm both;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_remote_size(inter, &theirs);
    MPI_Intercomm_merge(inter, low, &both);
    MPI_Comm_size(both, &all);
    if (all != size + theirs)
        fail("the merged communicator has another size");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
    if (sum != all)
        fail("allreduce over both programs");
    if (rank == 0) {
        int out = 17, in = 0;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 5, &in, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
        if (in != 17)
            fail("the message is another one");
    }
    MPI_Comm_free(&both);
}

int main(int argc, char **argv) {
    char port[MPI_MAX_PORT_NAME] = "", name[64];
    int accept = argc > 1 && !strcmp(argv[1], "accept");
    alarm(120);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && !strcmp(argv[1], "lookup")) {
        MPI_Lookup_name(argv[2], MPI_INFO_NULL, port);
        printf("found %s\n", port);
        MPI_Finalize();
        return 0;
    }
    int own_port = argc > 1 && !strcmp(argv[1], "port"), to = argc > 2 && !strcmp(argv[1], "to");
    if (own_port && rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        printf("port %s\n", port);
        fflush(stdout);
    }
    if (to)
        snprintf(port, sizeof(port), "%s", argv[2]);
    for (int round = 0; (own_port || to) && round < 3; round++) {
        MPI_Comm inter;
        if (own_port)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        talk(inter, to);
        MPI_Comm_disconnect(&inter);
    }
    if (own_port && rank == 0)
        MPI_Close_port(port);
    for (int round = 0; !own_port && !to && round < 2; round++) {
        MPI_Comm inter;
        snprintf(name, sizeof(name), "service.%d", round);
        if (accept) {
            if (rank == 0) {
                MPI_Open_port(MPI_INFO_NULL, port);
                MPI_Publish_name(name, MPI_INFO_NULL, port);
            }
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        } else {
            if (rank == 0) {
                MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
                MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
                while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS)
                    usleep(50000);
                MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
            }
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        }
        talk(inter, !accept);
        MPI_Comm_disconnect(&inter);
        if (accept && rank == 0) {
            MPI_Unpublish_name(name, MPI_INFO_NULL, port);
            MPI_Close_port(port);
        }
    }
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
