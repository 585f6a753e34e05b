/* See refused_pull.h. */
#include "server-glue/library/refused_pull.h"

#include "config.h"

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

#include "src/server/pmix_server_ops.h"

#include <limits.h>

int pmixhost_void_refused_pull(void *data, size_t count, pmix_iof_channel_t channels) {
    pmix_setup_caddy_t *caddy = data;
    pmix_iof_req_t *request;
    if (!caddy || caddy->ncodes > INT_MAX)
        return 0;
    request = pmix_pointer_array_get_item(&pmix_globals.iof_requests, (int)caddy->ncodes);
    /* The library's own has no requestor. */
    if (!request || !request->requestor || request->nprocs != count || request->channels != channels)
        return 0;
    request->channels = PMIX_FWD_NO_CHANNELS;
    return 1;
}

#else

int pmixhost_void_refused_pull(void *data, size_t count, pmix_iof_channel_t channels) {
    (void)data;
    (void)count;
    (void)channels;
    return 0;
}

#endif
