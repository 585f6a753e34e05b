/* See pull_asker.h. */
#include "server-glue/library/pull_asker.h"

#include "config.h"

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

#include "src/server/pmix_server_ops.h"

#include <limits.h>

static const pmix_peer_t *asker_of(const pmix_setup_caddy_t *caddy) {
    const pmix_server_caddy_t *request = caddy ? caddy->cbdata : NULL;
    return request ? request->peer : NULL;
}

int pmixhost_pull_is_of_a_tool(const void *cbdata) {
    const pmix_peer_t *asker = asker_of(cbdata);
    if (!asker)
        return -1;
    return PMIX_PEER_IS_TOOL(asker) ? 1 : 0;
}

/* The library closes it in the same thread, and sets this to -1 then (CLOSE_THE_SOCKET). */
int pmixhost_pull_connection(const void *cbdata) {
    const pmix_peer_t *asker = asker_of(cbdata);
    if (!asker)
        return PMIXHOST_PULL_CONNECTION_UNKNOWN;
    return asker->sd < 0 ? PMIXHOST_PULL_CONNECTION_CLOSED : asker->sd;
}

int pmixhost_pull_number(const void *cbdata) {
    const pmix_setup_caddy_t *caddy = cbdata;
    return caddy && caddy->ncodes <= INT_MAX ? (int)caddy->ncodes : -1;
}

#else

int pmixhost_pull_is_of_a_tool(const void *cbdata) {
    (void)cbdata;
    return -1;
}

int pmixhost_pull_connection(const void *cbdata) {
    (void)cbdata;
    return PMIXHOST_PULL_CONNECTION_UNKNOWN;
}

int pmixhost_pull_number(const void *cbdata) {
    (void)cbdata;
    return -1;
}

#endif
