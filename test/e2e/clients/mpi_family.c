/* What the bad end of a spawned child does to its parents, and theirs to it.
 *
 *   mpi_family HOW [WHO] [apart FILE] [aloof] [self] [alone] [N]
 * The ranks spawn N children (2), with MPI_COMM_WORLD or each its own (self), and wait with them in a
 * barrier, in which one process is missing, which ends in the way HOW: abort (MPI_Abort with 3), exit
 * (with 4 and without MPI_Finalize), leave (the same with 0), segv, kill, after (with 5, after
 * MPI_Finalize), well. WHO: child (the last of them, unless said otherwise), parent (the last rank).
 * apart: the jobs part first (MPI_Comm_disconnect); the one that is to end writes FILE before, and the
 * others live on for 4 s when it is there.
 * aloof: the others do not wait for it in a barrier, but live on for 8 s.
 * alone: nothing is spawned, and the last rank is the one.
 * Prints "parent R lives on" and "child R lives on" for each that is not ended by it.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *how, *self;
static char *file;

static void end_badly(void) {
    if (file) {
        FILE *f = fopen(file, "w");
        if (f)
            fclose(f);
    }
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    else if (!strcmp(how, "exit"))
        _exit(4);
    else if (!strcmp(how, "leave"))
        _exit(0);
    else if (!strcmp(how, "segv")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else if (!strcmp(how, "kill"))
        raise(SIGKILL);
}

int main(int argc, char **argv) {
    MPI_Comm inter = MPI_COMM_NULL, all;
    int rank, size, i, count = 2, who_is_parent = 0, by_itself = 0, single = 0, aloof = 0, is_child, chosen;
    alarm(100);
    how = argc > 1 ? argv[1] : "well";
    self = argv[0];
    for (i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "parent"))
            who_is_parent = 1;
        else if (!strcmp(argv[i], "self"))
            by_itself = 1;
        else if (!strcmp(argv[i], "alone"))
            single = who_is_parent = 1;
        else if (!strcmp(argv[i], "aloof"))
            aloof = 1;
        else if (!strcmp(argv[i], "apart") && i + 1 < argc)
            file = argv[++i];
        else if (atoi(argv[i]) > 0)
            count = atoi(argv[i]);
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&inter);
    is_child = inter != MPI_COMM_NULL;
    if (!is_child && !single)
        MPI_Comm_spawn(self, argv + 1, count, MPI_INFO_NULL, 0, by_itself ? MPI_COMM_SELF : MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
    if (single)
        all = MPI_COMM_WORLD;
    else
        MPI_Intercomm_merge(inter, is_child, &all);
    MPI_Barrier(all);
    chosen = is_child != who_is_parent && rank == size - 1;
    if (file) {
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&inter);
        if (chosen)
            end_badly();
        while (access(file, F_OK) != 0)
            usleep(20000);
        if (is_child != who_is_parent)
            _exit(0); /* MPI_Finalize would wait for the one that has ended */
        sleep(4);
    } else {
        if (chosen)
            end_badly();
        if (aloof)
            sleep(12); /* what ends it takes 5 s or more where the processors are busy */
        else
            MPI_Barrier(all);
    }
    printf("%s %d lives on\n", is_child ? "child" : "parent", rank);
    fflush(stdout);
    if (aloof) {
        sleep(1); /* srun loses what comes at the very end of a step in which somebody was killed */
        _exit(0);
    }
    if (!strcmp(how, "well") && !single && !file) { /* or Open MPI may write to one who has finalized: SIGPIPE */
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&inter);
    }
    MPI_Finalize();
    return chosen && !strcmp(how, "after") ? 5 : 0;
}
