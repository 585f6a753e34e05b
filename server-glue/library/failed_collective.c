/* See failed_collective.h. */
#include "server-glue/library/failed_collective.h"

#include "config.h"

#include <stddef.h>

#ifdef PMIXHOST_HAVE_PMIX_STORE_TABLE

#include "server-glue/library/pmix_internals.h"

#include "src/mca/bfrops/bfrops.h"
#include "src/mca/gds/gds.h"

#include <string.h>

/* Of libpmix' progress thread alone, once clients are admitted. */
static pmix_gds_base_module_mark_modex_complete_fn_t stores_own;
static pmix_status_t failure = PMIX_SUCCESS; /* of the collective that is being answered */

/* Reads the status in front, and leaves the answer as it is. */
static pmix_status_t status_of(pmix_peer_t *peer, pmix_buffer_t *answer, pmix_status_t *status) {
    char *at = answer->unpack_ptr;
    int32_t one = 1;
    pmix_status_t rc;
    PMIX_BFROPS_UNPACK(rc, peer, answer, status, &one, PMIX_STATUS);
    answer->unpack_ptr = at;
    return rc;
}

static pmix_status_t with_one_status(struct pmix_peer_t *recipient, pmix_list_t *namespaces, pmix_buffer_t *answer) {
    pmix_peer_t *peer = (pmix_peer_t *)recipient;
    pmix_status_t status = PMIX_SUCCESS, rc;
    if (pmix_list_get_size(namespaces) == 0 && status_of(peer, answer, &status) == PMIX_SUCCESS) {
        if (status != PMIX_SUCCESS) {
            failure = status;
        } else if (failure != PMIX_SUCCESS) {
            PMIX_DESTRUCT(answer);
            PMIX_CONSTRUCT(answer, pmix_buffer_t);
            PMIX_BFROPS_PACK(rc, peer, answer, &failure, 1, PMIX_STATUS);
            if (rc != PMIX_SUCCESS)
                return rc;
        }
    }
    return stores_own(recipient, namespaces, answer);
}

const char *pmixhost_mend_failed_collectives(void) {
    pmix_gds_base_module_t *store;
    if (!pmix_globals.mypeer || !pmix_globals.mypeer->nptr)
        return "the library has no data store";
    store = pmix_globals.mypeer->nptr->compat.gds;
    if (!store || !store->name || (strcmp(store->name, "hash") != 0 && strncmp(store->name, "shmem", 5) != 0))
        return "the library has a data store that is not known";
    if (store->mark_modex_complete == with_one_status)
        return NULL;
    if (!store->mark_modex_complete)
        return "the data store's table is not as expected";
    stores_own = store->mark_modex_complete;
    store->mark_modex_complete = with_one_status;
    return NULL;
}

#else

const char *pmixhost_mend_failed_collectives(void) {
    return "pmixhost was compiled without the library's own headers (src/mca/gds/gds.h)";
}

#endif
