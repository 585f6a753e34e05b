/* MPI's dynamic processes.
 *
 *   mpi_dynamic spawn N ROUNDS        MPI_Comm_spawn of N children from all ranks, ROUNDS times; each
 *                                   round: reduce from the children, merge, allreduce, disconnect
 *   mpi_dynamic deep N                a chain of N generations, each the child of the one before; what the
 *                                   last one says goes up to the first
 *   mpi_dynamic multiple              MPI_Comm_spawn_multiple of two programs with different arguments
 *   mpi_dynamic self N                each rank spawns N children of its own, at the same time
 *   mpi_dynamic missing               a program that does not exist: an MPI error, and life goes on
 *   mpi_dynamic refused N             a spawn of N children by all ranks, for which there is no room: each says
 *                                   "told R" when it knows
 *   mpi_dynamic join PORT-FILE        MPI_Comm_join over a socket between ranks 0 and 1
 * The children are the same program, started with "child".
 */
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int rank = -1, size;

static void fail(const char *why) {
    printf("FAIL %d: %s\n", rank, why);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(MPI_Comm inter, int parents, int children, int low) {
    MPI_Comm all;
    int n, one = 1, sum = 0;
    MPI_Comm_remote_size(inter, &n);
    if (n != (low ? children : parents))
        fail("the other side has another size");
    MPI_Intercomm_merge(inter, !low, &all);
    MPI_Comm_size(all, &n);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    if (n != parents + children || sum != n)
        fail("allreduce over parents and children");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void child(int argc, char **argv, MPI_Comm parent) {
    int parents, app = -1, *number, there;
    if (argc < 3)
        fail("a child without arguments");
    MPI_Comm_remote_size(parent, &parents);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &there);
    if (there)
        app = *number;
    if (atoi(argv[2]) >= 0 && app != atoi(argv[2]))
        fail("MPI_APPNUM is not the number of the program");
    check(parent, parents, size, 0);
}

static MPI_Comm spawn(MPI_Comm by, const char *self, int n) {
    MPI_Comm inter;
    char *arguments[] = {"child", "-1", NULL};
    int errors[512];
    if (MPI_Comm_spawn(self, arguments, n, MPI_INFO_NULL, 0, by, &inter, errors) != MPI_SUCCESS)
        fail("MPI_Comm_spawn");
    return inter;
}

/* Spawns the next generation, if there is to be one, and hears how many there were below. */
static int deeper(const char *self, int left) {
    MPI_Comm inter;
    char number[16], *arguments[] = {"deep", number, NULL};
    int below = 0;
    if (left == 0)
        return 0;
    snprintf(number, sizeof(number), "%d", left - 1);
    if (MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
        fail("MPI_Comm_spawn");
    MPI_Recv(&below, 1, MPI_INT, 0, 7, inter, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&inter);
    return below + 1;
}

static void join(const char *file) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = -1, tries;
    FILE *f;
    MPI_Comm inter;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (rank == 0) {
        socklen_t length = sizeof(address);
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        char temporary[4096];
        if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
            getsockname(listener, (struct sockaddr *)&address, &length))
            fail("listen");
        snprintf(temporary, sizeof(temporary), "%s.new", file);
        f = fopen(temporary, "w");
        if (!f)
            fail("the port file");
        fprintf(f, "%d\n", ntohs(address.sin_port));
        fclose(f);
        rename(temporary, file);
        fd = accept(listener, NULL, NULL);
    } else if (rank == 1) {
        int port = 0;
        for (tries = 0; !(f = fopen(file, "r")) && tries < 600; tries++)
            usleep(50000);
        if (!f || fscanf(f, "%d", &port) != 1)
            fail("the port file");
        address.sin_port = htons(port);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
            fail("connect");
    } else {
        return;
    }
    MPI_Comm_join(fd, &inter);
    int out = rank, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
    if (in != 1 - rank)
        fail("the message over the joined communicator");
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    const char *what = argc > 1 ? argv[1] : "spawn";
    alarm(140);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL && !strcmp(what, "deep")) {
        int below = deeper(argv[0], atoi(argv[2]));
        MPI_Send(&below, 1, MPI_INT, 0, 7, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        printf("child ok\n");
        return 0;
    }
    if (parent != MPI_COMM_NULL) {
        child(argc, argv, parent);
        MPI_Finalize();
        printf("child ok\n");
        return 0;
    }
    if (!strcmp(what, "spawn") && argc > 3) {
        for (int i = 0; i < atoi(argv[3]); i++)
            check(spawn(MPI_COMM_WORLD, argv[0], atoi(argv[2])), size, atoi(argv[2]), 1);
    } else if (!strcmp(what, "self") && argc > 2) {
        check(spawn(MPI_COMM_SELF, argv[0], atoi(argv[2])), 1, atoi(argv[2]), 1);
    } else if (!strcmp(what, "deep") && argc > 2) {
        if (deeper(argv[0], atoi(argv[2])) != atoi(argv[2]))
            fail("there are not as many generations");
    } else if (!strcmp(what, "multiple")) {
        char *programs[] = {argv[0], argv[0]};
        char *first[] = {"child", "0", NULL}, *second[] = {"child", "1", NULL};
        char **arguments[] = {first, second};
        int counts[] = {1, 2}, errors[3];
        MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
        MPI_Comm inter;
        MPI_Comm_spawn_multiple(2, programs, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, errors);
        check(inter, size, 3, 1);
    } else if (!strcmp(what, "missing")) {
        MPI_Comm inter;
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (rank == 0 && MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                                        MPI_ERRCODES_IGNORE) == MPI_SUCCESS)
            fail("a missing program was spawned");
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "refused") && argc > 2) {
        MPI_Comm inter;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[2]), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                           MPI_ERRCODES_IGNORE) == MPI_SUCCESS)
            fail("there was room");
        printf("told %d\n", rank);
        fflush(stdout);
    } else if (!strcmp(what, "join") && argc > 2) {
        join(argv[2]);
    } else {
        fail("what?");
    }
    MPI_Finalize();
    printf("ok %d\n", rank);
    return 0;
}
