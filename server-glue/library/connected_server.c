/* See connected_server.h. */
#include "server-glue/library/connected_server.h"

#include "config.h"

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

int pmixhost_forget_connection(void) {
    pmix_globals.connected = false;
    return 1;
}

#else

int pmixhost_forget_connection(void) {
    return 0;
}

#endif
