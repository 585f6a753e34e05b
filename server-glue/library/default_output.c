/* See default_output.h. */
#include "server-glue/library/default_output.h"

#include "config.h"

#ifdef PMIXHOST_HAVE_PMIX_SETUP_CADDY

#include "server-glue/library/pmix_internals.h"

int pmixhost_take_default_output(pmix_iof_cbfunc_t callback) {
    pmix_iof_req_t *request = pmix_pointer_array_get_item(&pmix_globals.iof_requests, 0);
    if (!request || request->cbfunc)
        return 0;
    request->cbfunc = callback;
    return 1;
}

#else

int pmixhost_take_default_output(pmix_iof_cbfunc_t callback) {
    (void)callback;
    return 0;
}

#endif
