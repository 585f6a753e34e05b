/* Process sets.
 *
 *   sets names EXPECTED             every rank's PMIX_PSET_NAMES, at every rank
 *   sets none                       there is no set
 *   sets spawn EXPECTED             rank 0 spawns two programs, with a set for the first, for whose
 *                                   processes `names EXPECTED` is true
 */
#include "sets.h"

static void look_at(uint32_t rank) {
    pmix_value_t *v = NULL;
    size_t wanted = 0;
    for (size_t i = 0; i < nsets; i++)
        wanted += sets[i].has[rank];
    pmix_status_t rc = get_timed(rank, PMIX_PSET_NAMES, 30, &v);
    if (wanted == 0) {
        if (rc == PMIX_SUCCESS)
            fail("rank %u is in a set", rank);
        return;
    }
    if (rc != PMIX_SUCCESS)
        fail("PMIX_PSET_NAMES of rank %u: %s", rank, status_name(rc));
    if (v->type != PMIX_DATA_ARRAY || v->data.darray->type != PMIX_STRING)
        fail("PMIX_PSET_NAMES of rank %u is no array of strings", rank);
    char **names = v->data.darray->array;
    for (size_t i = 0; i < v->data.darray->size; i++) {
        struct set *set = find_set(names[i]);
        if (!set || !set->has[rank])
            fail("rank %u is in the set %s", rank, names[i]);
    }
    if (v->data.darray->size != wanted)
        fail("rank %u is in %zu sets, not %zu", rank, v->data.darray->size, wanted);
    PMIX_VALUE_RELEASE(v);
    must(get_timed(rank, PMIX_PSET_NAME, 30, &v));
    struct set *set = v->type == PMIX_STRING ? find_set(v->data.string) : NULL;
    if (!set || !set->has[rank])
        fail("PMIX_PSET_NAME of rank %u is none of its sets", rank);
    PMIX_VALUE_RELEASE(v);
}

static void spawn(const char *self, const char *expected) {
    pmix_app_t apps[2];
    char *argv[] = {(char *)self, "names", (char *)expected, NULL};
    const char *dir = getenv("CLIENT_DIR");
    char variable[4096];
    snprintf(variable, sizeof(variable), "CLIENT_DIR=%s", dir ? dir : ".");
    char *environment[] = {variable, NULL};
    pmix_nspace_t child;
    memset(apps, 0, sizeof(apps));
    for (int i = 0; i < 2; i++) {
        apps[i].cmd = (char *)self;
        apps[i].argv = argv;
        apps[i].env = environment;
        apps[i].maxprocs = 2;
    }
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_PSET_NAME, "kids", PMIX_STRING);
    apps[0].info = &info;
    apps[0].ninfo = 1;
    pmix_info_t job;
    PMIX_INFO_LOAD(&job, PMIX_MAPBY, "slot:oversubscribe", PMIX_STRING);
    must(PMIx_Spawn(&job, 1, apps, 2, child));
    PMIX_INFO_DESTRUCT(&job);
    PMIX_INFO_DESTRUCT(&info);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "none";
    begin(90);
    if ((!strcmp(what, "names") && argc > 2) || !strcmp(what, "none")) {
        if (argc > 2)
            expect_sets(argv[2]);
        for (uint32_t r = 0; r < me.size; r++)
            look_at(r);
        fence();
    } else if (!strcmp(what, "spawn") && argc > 2) {
        if (me.rank == 0)
            spawn(argv[0], argv[2]);
        fence();
    } else {
        fail("what is '%s'?", what);
    }
    pass();
}
