/* The cost of starting and ending under a PMIx host: nothing but PMIx_Init and PMIx_Finalize.
 * usage: bench_init         for the wall time of the launcher
 *        bench_init bare    does not even that: what the program costs without it
 *        bench_init hold    rank 0 prints "ready" when all are there; all stay until its standard
 *                           input ends, so that the servers' memory can be looked at */
#include "client.h"

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "bare"))
        return 0;
    if (argc > 1 && !strcmp(argv[1], "hold")) {
        begin(300);
        fence_collect();
        if (me.rank == 0) {
            char byte;
            say("ready");
            me.doing = "standard input";
            while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
        }
        fence_collect();
        pass();
    }
    watch(120);
    must(PMIx_Init(&me.proc, NULL, 0));
    must(PMIx_Finalize(NULL, 0));
    return 0;
}
