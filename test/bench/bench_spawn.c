/* Time from PMIx_Spawn to its return. usage: bench_spawn COUNT TIMES [connect]
 * Prints "spawn MILLISECONDS" for each; the children are /bin/true, placed host by host in turn. With "connect"
 * they are this program, parent and children call PMIx_Connect as soon as they can, and "connected
 * MILLISECONDS" is the time from PMIx_Spawn until that is done. */
#include "client.h"

static void load_procs(pmix_proc_t procs[2], const pmix_proc_t *parent, const char *children) {
    procs[0] = *parent;
    PMIX_LOAD_PROCID(&procs[1], children, PMIX_RANK_WILDCARD);
}

static void child(void) {
    begin(300);
    pmix_value_t *parent;
    must(PMIx_Get(&me.proc, PMIX_PARENT_ID, NULL, 0, &parent));
    pmix_proc_t both[2];
    load_procs(both, parent->data.proc, me.proc.nspace);
    must(PMIx_Connect(both, 2, NULL, 0));
    must(PMIx_Disconnect(both, 2, NULL, 0));
    must(PMIx_Finalize(NULL, 0));
    exit(0);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "child"))
        child();
    begin(300);
    int count = argc > 1 ? atoi(argv[1]) : 1, times = argc > 2 ? atoi(argv[2]) : 1;
    bool connects = argc > 3 && !strcmp(argv[3], "connect");
    char plain[] = "/bin/true", name[] = "true", role[] = "child";
    char *words[] = {name, NULL}, *connecting[] = {argv[0], role, NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = connects ? argv[0] : plain;
    app.argv = connects ? connecting : words;
    app.maxprocs = count;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_MAPBY, "node", PMIX_STRING);
    for (int i = 0; i < times; i++) {
        pmix_nspace_t nspace;
        double began = now();
        must(PMIx_Spawn(&info, 1, &app, 1, nspace));
        say("spawn %.3f", (now() - began) * 1e3);
        if (connects) {
            pmix_proc_t both[2];
            load_procs(both, &me.proc, nspace);
            must(PMIx_Connect(both, 2, NULL, 0));
            say("connected %.3f", (now() - began) * 1e3);
            must(PMIx_Disconnect(both, 2, NULL, 0));
        }
        struct timespec pause = {.tv_nsec = 300000000}; /* the children's end is not to be in the next */
        nanosleep(&pause, NULL);
    }
    must(PMIx_Finalize(NULL, 0));
    return 0;
}
