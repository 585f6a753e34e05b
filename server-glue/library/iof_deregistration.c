/* See iof_deregistration.h. */
#include "server-glue/library/iof_deregistration.h"

#include "config.h"

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

#include "src/server/pmix_server_ops.h"

int pmixhost_mend_iof_deregistration(void *cbdata) {
    pmix_setup_caddy_t *caddy = cbdata;
    caddy->status = PMIX_SUCCESS;
    return 1;
}

#else

int pmixhost_mend_iof_deregistration(void *cbdata) {
    (void)cbdata;
    return 0;
}

#endif
