/* Process sets as a test expects them, in the words of PMIXHOST_PSETS: "ocean=0-3;atmo=4-7,9". */
#ifndef TEST_E2E_SETS_H
#define TEST_E2E_SETS_H

#include "client.h"

enum { MAX_SETS = 32, MAX_MEMBERS = 256 };

struct set {
    char name[256];
    bool has[MAX_MEMBERS];
    size_t size;
};
static struct set sets[MAX_SETS];
static size_t nsets;

static inline void expect_sets(const char *text) {
    char copy[4096], *next = copy, *part;
    snprintf(copy, sizeof(copy), "%s", text);
    nsets = 0;
    while ((part = strsep(&next, ";"))) {
        struct set *set = &sets[nsets];
        char *name = strsep(&part, "="), *range;
        if (!part || nsets == MAX_SETS)
            fail("what is '%s'?", text);
        memset(set, 0, sizeof(*set));
        snprintf(set->name, sizeof(set->name), "%s", name);
        while ((range = strsep(&part, ","))) {
            unsigned first, last;
            int n = sscanf(range, "%u-%u", &first, &last);
            if (n == 1)
                last = first;
            if (n < 1 || last >= MAX_MEMBERS)
                fail("what is '%s'?", range);
            for (unsigned r = first; r <= last; r++, set->size++)
                set->has[r] = true;
        }
        nsets++;
    }
}

static inline struct set *find_set(const char *name) {
    for (size_t i = 0; i < nsets; i++)
        if (!strcmp(sets[i].name, name))
            return &sets[i];
    return NULL;
}

/* Whether an array of PMIX_PROC is the set, of this namespace. */
static inline bool is_set(const struct set *set, const pmix_value_t *value, const char *nspace) {
    if (value->type != PMIX_DATA_ARRAY || value->data.darray->type != PMIX_PROC ||
        value->data.darray->size != set->size)
        return false;
    const pmix_proc_t *procs = value->data.darray->array;
    for (size_t i = 0; i < set->size; i++)
        if (strcmp(procs[i].nspace, nspace) || procs[i].rank >= MAX_MEMBERS || !set->has[procs[i].rank])
            return false;
    return true;
}

#endif
