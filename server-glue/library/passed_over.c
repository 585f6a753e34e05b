/* See passed_over.h. */
#include "server-glue/library/passed_over.h"

#include "config.h"

#if defined PMIXHOST_HAVE_PMIX_SETUP_CADDY && defined PMIXHOST_HAVE_PMIX_ONE_READER

#include "server-glue/library/pmix_internals.h"

#include "src/common/pmix_iof.h"

/* Of pmix_iof_channel_t, which has 16 bits; those that there are fill four. */
enum { OUT_OF_THE_WAY = 8, ALL_THERE_ARE = 0xff };

int pmixhost_can_pass_over(void) {
    return 1;
}

/* The next one at *at or behind; null: there is no more. */
static pmix_iof_req_t *pull_of(int connection, int *at) {
    while (*at < pmix_globals.iof_requests.size) {
        pmix_iof_req_t *request = pmix_pointer_array_get_item(&pmix_globals.iof_requests, (*at)++);
        /* The library's own has no requestor. */
        if (request && request->requestor && request->requestor->sd == connection)
            return request;
    }
    return NULL;
}

static bool is_of(const pmix_iof_req_t *request, const char *nspace) {
    return request->nprocs > 0 && PMIX_CHECK_NSPACE(request->procs[0].nspace, nspace);
}

void pmixhost_pass_over(int connection, const char *nspace) {
    pmix_iof_req_t *request;
    int at = 0;
    while ((request = pull_of(connection, &at)))
        if (is_of(request, nspace) && (request->channels & ALL_THERE_ARE))
            request->channels = (pmix_iof_channel_t)(request->channels << OUT_OF_THE_WAY);
}

void pmixhost_take_up(int connection, const char *nspace) {
    pmix_iof_req_t *request;
    int at = 0;
    while ((request = pull_of(connection, &at)))
        if (is_of(request, nspace) && !(request->channels & ALL_THERE_ARE))
            request->channels = (pmix_iof_channel_t)(request->channels >> OUT_OF_THE_WAY);
}

void pmixhost_deliver_to(int connection, int only, const pmix_proc_t *source, pmix_iof_channel_t channel,
                         const pmix_byte_object_t *bytes, const pmix_info_t *info, size_t ninfo) {
    pmix_iof_req_t *request;
    int at = 0;
    while ((request = pull_of(connection, &at)))
        if (only < 0 || only == at - 1)
            pmix_iof_process_iof(channel, source, bytes, info, ninfo, request);
}

#else

int pmixhost_can_pass_over(void) {
    return 0;
}
void pmixhost_pass_over(int connection, const char *nspace) {
    (void)connection;
    (void)nspace;
}
void pmixhost_take_up(int connection, const char *nspace) {
    (void)connection;
    (void)nspace;
}
void pmixhost_deliver_to(int connection, int only, const pmix_proc_t *source, pmix_iof_channel_t channel,
                         const pmix_byte_object_t *bytes, const pmix_info_t *info, size_t ninfo) {
    (void)connection;
    (void)only;
    (void)source;
    (void)channel;
    (void)bytes;
    (void)info;
    (void)ninfo;
}

#endif
