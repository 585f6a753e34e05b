/* Time from PMIx_Spawn to its return. usage: bench_spawn COUNT TIMES
 * Prints "spawn MILLISECONDS" for each; the children are /bin/true, placed host by host in turn. */
#include "client.h"

int main(int argc, char **argv)
{
    begin(300);
    int count = argc > 1 ? atoi(argv[1]) : 1, times = argc > 2 ? atoi(argv[2]) : 1;
    char command[] = "/bin/true", name[] = "true", *words[] = {name, NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = command;
    app.argv = words;
    app.maxprocs = count;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_MAPBY, "node", PMIX_STRING);
    for (int i = 0; i < times; i++) {
        pmix_nspace_t nspace;
        double began = now();
        must(PMIx_Spawn(&info, 1, &app, 1, nspace));
        say("spawn %.3f", (now() - began) * 1e3);
        struct timespec pause = {.tv_nsec = 300000000}; /* the children's end is not to be in the next */
        nanosleep(&pause, NULL);
    }
    must(PMIx_Finalize(NULL, 0));
    return 0;
}
