/* PMIx groups, for the test clients that build some: members, directives, construct and destruct. */
#ifndef TEST_E2E_GROUPS_H
#define TEST_E2E_GROUPS_H

#include "client.h"

/* The ranks of this job that leave `first` when divided by `step`; there is room for one more. */
static inline pmix_proc_t *list_of(uint32_t first, uint32_t step, size_t *n) {
    pmix_proc_t *procs = calloc(me.size + 1, sizeof(*procs));
    *n = 0;
    for (uint32_t r = me.size; r-- > 0;) /* in no sensible order */
        if (r % step == first)
            procs[(*n)++] = process(me.proc.nspace, r);
    return procs;
}

enum {
    CONTEXT = 1,
    OPTIONAL = 2,
    TOLERANT = 4,
    NOTIFY = 8,
    LOCAL = 16,
    UNKNOWN = 32,
    MUST_HOLD = 64,
    MAX_DIRECTIVES = 8
};

/* The directives of these flags; how many they are. */
static inline size_t directives(int flags, pmix_info_t info[MAX_DIRECTIVES]) {
    const char *keys[] = {PMIX_GROUP_ASSIGN_CONTEXT_ID,  PMIX_GROUP_OPTIONAL,   PMIX_GROUP_FT_COLLECTIVE,
                          PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_LOCAL_ONLY, "test.no.such.directive"};
    size_t n = 0;
    for (int i = 0; i < 6; i++)
        if (flags & 1 << i) {
            PMIX_INFO_LOAD(&info[n], keys[i], NULL, PMIX_BOOL);
            n++;
        }
    if (flags & (UNKNOWN | MUST_HOLD)) /* the last one */
        PMIX_INFO_REQUIRED(&info[n - 1]);
    return n;
}

static inline size_t id_in(const pmix_info_t *results, size_t n) {
    const pmix_info_t *id = find_info(results, n, PMIX_GROUP_CONTEXT_ID);
    return id ? id->value.data.size : SIZE_MAX;
}

/* `timeout` 0: none. `id` is NULL, or becomes the context id, SIZE_MAX when there is none. */
static inline pmix_status_t construct(const char *name, const pmix_proc_t *procs, size_t n, int flags, int timeout,
                                      size_t *id) {
    pmix_info_t info[MAX_DIRECTIVES], *results = NULL;
    size_t count = directives(flags, info), nresults = 0;
    if (timeout) {
        PMIX_INFO_LOAD(&info[count], PMIX_TIMEOUT, &timeout, PMIX_INT);
        count++;
    }
    me.doing = "PMIx_Group_construct";
    pmix_status_t rc = PMIx_Group_construct(name, procs, n, count ? info : NULL, count, &results, &nresults);
    if (id)
        *id = rc == PMIX_SUCCESS ? id_in(results, nresults) : SIZE_MAX;
    return rc;
}

static inline void build(const char *name, const pmix_proc_t *procs, size_t n, int flags, size_t *id) {
    pmix_status_t rc = construct(name, procs, n, flags, 0, id);
    if (rc != PMIX_SUCCESS)
        fail("construct %s: %s", name, status_name(rc));
    if ((flags & CONTEXT) && id && (*id == SIZE_MAX || *id == 0))
        fail("construct %s: no context id", name);
}

static inline void destruct(const char *name) {
    must(PMIx_Group_destruct(name, NULL, 0));
}

#endif
