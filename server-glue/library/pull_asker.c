/* See pull_asker.h. */
#include "server-glue/library/pull_asker.h"

#include "config.h"

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

#include "src/server/pmix_server_ops.h"

int pmixhost_pull_is_of_a_tool(const void *cbdata) {
    const pmix_setup_caddy_t *caddy = cbdata;
    const pmix_server_caddy_t *request = caddy ? caddy->cbdata : NULL;
    if (!request || !request->peer)
        return -1;
    return PMIX_PEER_IS_TOOL(request->peer) ? 1 : 0;
}

#else

int pmixhost_pull_is_of_a_tool(const void *cbdata) {
    (void)cbdata;
    return -1;
}

#endif
