/* Questions to the host (PMIx_Query_info), with one answer each. */
#ifndef TEST_E2E_QUERIES_H
#define TEST_E2E_QUERIES_H

#include "client.h"

static pmix_info_t *results; /* of the last question */
static size_t nresults;

/* `qualifiers` get PMIX_QUERY_REFRESH_CACHE: the library keeps answers otherwise. */
static inline pmix_status_t ask(const char *const *keys, const pmix_info_t *qualifiers, size_t n) {
    pmix_query_t query;
    bool yes = true;
    PMIX_QUERY_CONSTRUCT(&query);
    for (; *keys; keys++) {
        pmix_status_t rc;
        PMIX_ARGV_APPEND(rc, query.keys, *keys);
        if (rc != PMIX_SUCCESS)
            fail("PMIX_ARGV_APPEND: %s", status_name(rc));
    }
    PMIX_QUERY_QUALIFIERS_CREATE(&query, n + 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_XFER(&query.qualifiers[i + 1], &qualifiers[i]);
    if (results)
        PMIX_INFO_FREE(results, nresults);
    results = NULL;
    nresults = 0;
    me.doing = "PMIx_Query_info";
    pmix_status_t rc = PMIx_Query_info(&query, 1, &results, &nresults);
    PMIX_QUERY_DESTRUCT(&query);
    return rc;
}

static inline pmix_status_t status_of(const char *key, const char *qualifier, const char *text) {
    const char *keys[] = {key, NULL};
    pmix_info_t info;
    if (!qualifier)
        return ask(keys, NULL, 0);
    PMIX_INFO_LOAD(&info, qualifier, text, PMIX_STRING);
    pmix_status_t rc = ask(keys, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return rc;
}

static inline const pmix_value_t *answer_to(const char *key, const char *qualifier, const char *text,
                                            pmix_data_type_t type) {
    pmix_status_t rc = status_of(key, qualifier, text);
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", key, status_name(rc));
    if (nresults != 1 || !PMIX_CHECK_KEY(&results[0], key))
        fail("%s: %zu results", key, nresults);
    if (results[0].value.type != type)
        fail("%s has type %d", key, results[0].value.type);
    return &results[0].value;
}

static inline void expect(pmix_status_t wanted, const char *key, const char *qualifier, const char *text) {
    pmix_status_t rc = status_of(key, qualifier, text);
    if (rc != wanted)
        fail("%s %s: %s", key, text ? text : "", status_name(rc));
}

static inline bool is_in(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ','))
            return true;
    return false;
}

#endif
