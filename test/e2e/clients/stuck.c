/* A libpmix that gets stuck, preloaded into pmixhostd. Once the file $STUCK_WHEN exists, the call with which
 * the daemon asks whether its library still answers does not return (STUCK_HOW=call), or libpmix' progress
 * thread stands still in it (STUCK_HOW=progress). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix_server.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stand_still(pmix_status_t status, void *data) {
    (void)status;
    (void)data;
    for (;;)
        pause();
}

pmix_status_t PMIx_server_deliver_inventory(pmix_info_t info[], size_t ninfo, pmix_info_t directives[], size_t ndirs,
                                            pmix_op_cbfunc_t callback, void *data) {
    pmix_status_t (*real)(pmix_info_t[], size_t, pmix_info_t[], size_t, pmix_op_cbfunc_t, void *) =
        dlsym(RTLD_NEXT, "PMIx_server_deliver_inventory");
    const char *when = getenv("STUCK_WHEN"), *how = getenv("STUCK_HOW");
    if (when && how && access(when, F_OK) == 0) {
        if (strcmp(how, "call") == 0)
            stand_still(PMIX_SUCCESS, NULL);
        real(NULL, 0, NULL, 0, stand_still, NULL);
    }
    return real(info, ninfo, directives, ndirs, callback, data);
}
