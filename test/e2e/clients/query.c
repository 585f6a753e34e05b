/* PMIx_Query_info.
 *
 *   query sets EXPECTED    number, names and members of the process sets
 *   query groups           the same of process groups
 *   query job              namespaces, command line, status, what spawn and query support
 *   query table            the table of processes: each rank's pid, host, program and state
 *   query ended            the last rank exits with 3 after PMIx_Finalize: the others see it
 *   query fabric           of networks the host has nothing to tell
 *   query mixed            some keys are answered and some are not
 *   query rm SECONDS JOB   the allocation has up to so many seconds left; queue `main` is up
 *   query supported        each key that is listed as supported is answered, and none that is not
 *   query supported-rm     the same, and those of the RM are among them
 */
#include "queries.h"
#include "sets.h"

static void look_at_sets(void) {
    const pmix_value_t *v = answer_to(PMIX_QUERY_NUM_PSETS, NULL, NULL, PMIX_SIZE);
    if (v->data.size != nsets)
        fail("%zu process sets, not %zu", v->data.size, nsets);
    v = answer_to(PMIX_QUERY_PSET_NAMES, NULL, NULL, PMIX_STRING);
    char *all = strdup(v->data.string), *rest = all;
    size_t found = 0;
    for (char *name; (name = strsep(&rest, ",")) && *name; found++)
        if (!find_set(name))
            fail("there is a set %s", name);
    free(all);
    if (found != nsets)
        fail("the names are \"%s\"", v->data.string);
    for (size_t i = 0; i < nsets; i++) {
        v = answer_to(PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME, sets[i].name, PMIX_DATA_ARRAY);
        if (!is_set(&sets[i], v, me.proc.nspace))
            fail("the members of %s are others", sets[i].name);
    }
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME, "nobody");
    expect(PMIX_ERR_BAD_PARAM, PMIX_QUERY_PSET_MEMBERSHIP, NULL, NULL);
}

/* `own`: whether it is in the group of all. */
static void look_at_groups_of(const pmix_proc_t *process, bool own) {
    const char *keys[] = {PMIX_GROUP_NAMES, NULL};
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_PROCID, process, PMIX_PROC);
    must(ask(keys, &info, 1));
    const pmix_data_array_t *names = results[0].value.data.darray;
    if (nresults != 1 || results[0].value.type != PMIX_DATA_ARRAY || names->type != PMIX_STRING)
        fail("%zu results for the groups of a process", nresults);
    if (names->size != own || (own && strcmp(((char **)names->array)[0], "friends")))
        fail("rank %u is in %zu groups", process->rank, names->size);
    PMIX_INFO_DESTRUCT(&info);
}

static void look_at_groups(void) {
    pmix_proc_t all, *members;
    pmix_info_t info, *answers = NULL;
    size_t n = 0;
    bool yes = true;
    PMIX_LOAD_PROCID(&all, me.proc.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    must(PMIx_Group_construct("friends", &all, 1, &info, 1, &answers, &n));
    const pmix_value_t *v = answer_to(PMIX_QUERY_NUM_GROUPS, NULL, NULL, PMIX_SIZE);
    if (v->data.size != 1)
        fail("%zu groups", v->data.size);
    v = answer_to(PMIX_QUERY_GROUP_NAMES, NULL, NULL, PMIX_DATA_ARRAY);
    if (v->data.darray->type != PMIX_STRING || v->data.darray->size != 1 ||
        strcmp(((char **)v->data.darray->array)[0], "friends"))
        fail("the groups have other names");
    v = answer_to(PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_GROUP_ID, "friends", PMIX_DATA_ARRAY);
    members = v->data.darray->array;
    if (v->data.darray->type != PMIX_PROC || v->data.darray->size != me.size)
        fail("the group has %zu members", v->data.darray->size);
    for (uint32_t r = 0; r < me.size; r++)
        if (members[r].rank != r || strcmp(members[r].nspace, me.proc.nspace))
            fail("member %u is %s:%u", r, members[r].nspace, members[r].rank);
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_GROUP_ID, "nobody");
    expect(PMIX_ERR_BAD_PARAM, PMIX_QUERY_GROUP_MEMBERSHIP, NULL, NULL);
    pmix_proc_t last = process(me.proc.nspace, me.size - 1);
    look_at_groups_of(&me.proc, true);
    look_at_groups_of(&last, true);
    expect(PMIX_ERR_BAD_PARAM, PMIX_GROUP_NAMES, NULL, NULL);
    fence();
    must(PMIx_Group_destruct("friends", NULL, 0));
    v = answer_to(PMIX_QUERY_NUM_GROUPS, NULL, NULL, PMIX_SIZE);
    if (v->data.size != 0)
        fail("%zu groups are left", v->data.size);
    look_at_groups_of(&me.proc, false);
}

static void look_at_job(void) {
    const pmix_value_t *v = answer_to(PMIX_QUERY_NAMESPACES, NULL, NULL, PMIX_STRING);
    if (!is_in(v->data.string, me.proc.nspace))
        fail("the namespaces are %s", v->data.string);
    v = answer_to(PMIX_QUERY_NAMESPACE_INFO, PMIX_NSPACE, me.proc.nspace, PMIX_DATA_ARRAY);
    if (v->data.darray->size != 1 || v->data.darray->type != PMIX_INFO)
        fail("namespace information of %zu", v->data.darray->size);
    const pmix_info_t *job = v->data.darray->array;
    bool named = false, lined = false;
    if (job->value.type != PMIX_DATA_ARRAY)
        fail("namespace information is no array");
    const pmix_info_t *details = job->value.data.darray->array;
    for (size_t i = 0; i < job->value.data.darray->size; i++) {
        named |= PMIX_CHECK_KEY(&details[i], PMIX_NSPACE) && !strcmp(details[i].value.data.string, me.proc.nspace);
        lined |=
            PMIX_CHECK_KEY(&details[i], PMIX_CMD_LINE) && strstr(details[i].value.data.string, "query job") != NULL;
    }
    if (!named || !lined)
        fail("namespace information lacks the %s", named ? "command line" : "name");
    v = answer_to(PMIX_QUERY_JOB_STATUS, PMIX_NSPACE, me.proc.nspace, PMIX_STATUS);
    if (v->data.status != PMIX_SUCCESS)
        fail("the job's status is %s", status_name(v->data.status));
    v = answer_to(PMIX_JOB_SIZE, NULL, NULL, PMIX_UINT32);
    if (v->data.uint32 != me.size)
        fail("the job's size is %u", v->data.uint32);
    v = answer_to(PMIX_QUERY_SPAWN_SUPPORT, NULL, NULL, PMIX_STRING);
    if (!is_in(v->data.string, PMIX_HOST) || is_in(v->data.string, PMIX_PRELOAD_BIN))
        fail("spawn supports %s", v->data.string);
    v = answer_to(PMIX_QUERY_SUPPORTED_KEYS, NULL, NULL, PMIX_STRING);
    if (!is_in(v->data.string, PMIX_QUERY_NUM_PSETS))
        fail("query supports %s", v->data.string);
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_NAMESPACE_INFO, PMIX_NSPACE, "nobody");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_JOB_STATUS, PMIX_NSPACE, "nobody");
}

static const pmix_proc_info_t *table_of(const char *key, size_t *n) {
    const pmix_value_t *v = answer_to(key, PMIX_NSPACE, me.proc.nspace, PMIX_DATA_ARRAY);
    if (v->data.darray->type != PMIX_PROC_INFO)
        fail("%s has elements of type %d", key, v->data.darray->type);
    *n = v->data.darray->size;
    return v->data.darray->array;
}

static void look_at_table(const char *program) {
    size_t n;
    pmix_value_t *v;
    put_u64("pid", (uint64_t)getpid());
    must(PMIx_Commit());
    fence_collect();
    const pmix_proc_info_t *table = table_of(PMIX_QUERY_PROC_TABLE, &n);
    if (n != me.size)
        fail("%zu entries for %u processes", n, me.size);
    for (uint32_t r = 0; r < me.size; r++) {
        const pmix_proc_info_t *p = &table[r];
        if (p->proc.rank != r || strcmp(p->proc.nspace, me.proc.nspace))
            fail("entry %u is of %s:%u", r, p->proc.nspace, p->proc.rank);
        if (p->state != PMIX_PROC_STATE_CONNECTED || p->exit_code != 0)
            fail("rank %u has state %d, exit code %d", r, p->state, p->exit_code);
        if ((uint64_t)p->pid != get_u64(r, "pid"))
            fail("rank %u has pid %d, not %lu", r, (int)p->pid, (unsigned long)get_u64(r, "pid"));
        const char *base = p->executable_name ? strrchr(p->executable_name, '/') : NULL;
        if (!base || strcmp(base + 1, program))
            fail("rank %u runs %s", r, p->executable_name ? p->executable_name : "nothing");
        if (!get(r, PMIX_HOSTNAME, &v) || !p->hostname || strcmp(v->data.string, p->hostname))
            fail("rank %u is on %s", r, p->hostname ? p->hostname : "no host");
        PMIX_VALUE_RELEASE(v);
    }
    if (!get(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &v))
        fail("no PMIX_LOCAL_SIZE");
    table = table_of(PMIX_QUERY_LOCAL_PROC_TABLE, &n);
    if (n != v->data.uint32)
        fail("%zu local entries for %u processes", n, v->data.uint32);
    PMIX_VALUE_RELEASE(v);
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_PROC_TABLE, PMIX_NSPACE, "nobody");
    fence();
}

static void see_the_end(void) {
    size_t n;
    uint32_t last = me.size - 1;
    need(2);
    if (last > MAX_MEMBERS)
        fail("too many ranks");
    if (me.rank == last) {
        show_life();
        fence();
        must(PMIx_Finalize(NULL, 0));
        _exit(3);
    }
    fence();
    wait_for_death();
    const pmix_proc_info_t *p;
    do {
        p = &table_of(PMIX_QUERY_PROC_TABLE, &n)[last]; /* the host may not have heard of it yet */
    } while (p->state < PMIX_PROC_STATE_TERMINATED);
    /* libpmix 4.2.2 does not send exit codes. */
    if (p->state != PMIX_PROC_STATE_TERM_NON_ZERO || (p->exit_code != 3 && p->exit_code != 0) || p->pid != 0)
        fail("the last rank has state %d, exit code %d, pid %d", p->state, p->exit_code, (int)p->pid);
    const pmix_value_t *v = answer_to(PMIX_QUERY_JOB_STATUS, NULL, NULL, PMIX_STATUS);
    if (v->data.status != PMIX_ERR_EXIT_NONZERO_TERM)
        fail("the job's status is %s", status_name(v->data.status));
    pmix_proc_t others[MAX_MEMBERS];
    for (uint32_t r = 0; r < last; r++)
        PMIX_LOAD_PROCID(&others[r], me.proc.nspace, r);
    must(fence_with(others, last, 0, 0)); /* or a host leaves while another one asks it */
    say("ok %d", (int)me.rank);
    PMIx_Finalize(NULL, 0);
    _exit(0);
}

/* A value of a wrong type spoils the keys of its own query alone. */
static void one_malformed(void) {
    pmix_query_t two[2];
    bool yes = true;
    int seven = 7;
    for (int i = 0; i < 2; i++) {
        pmix_status_t rc;
        PMIX_QUERY_CONSTRUCT(&two[i]);
        PMIX_ARGV_APPEND(rc, two[i].keys, i ? PMIX_QUERY_NUM_GROUPS : PMIX_QUERY_NUM_PSETS);
        must(rc);
        PMIX_QUERY_QUALIFIERS_CREATE(&two[i], 2);
        PMIX_INFO_LOAD(&two[i].qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&two[i].qualifiers[1], PMIX_HOSTNAME, i ? (void *)&seven : (void *)"a host",
                       i ? PMIX_INT : PMIX_STRING);
    }
    pmix_info_t *found = NULL;
    size_t count = 0;
    pmix_status_t rc = PMIx_Query_info(two, 2, &found, &count);
    if (rc != PMIX_ERR_PARTIAL_SUCCESS)
        fail("one of two queries with a number as PMIX_HOSTNAME: %s", status_name(rc));
    if (PMIX_VERSION_MAJOR >= 5 && count != 1)
        fail("%zu results of one good query", count);
}

static void mixed(void) {
    const char *both[] = {PMIX_QUERY_NUM_PSETS, "my.own.key", NULL};
    const char *good[] = {PMIX_QUERY_NUM_PSETS, PMIX_QUERY_NAMESPACES, NULL};
    const char *sum[] = {PMIX_QUERY_NUM_PSETS, NULL};
    pmix_info_t strange;
    bool yes = true;
    expect(PMIX_ERR_NOT_SUPPORTED, "my.own.key", NULL, NULL);
    pmix_status_t rc = ask(both, NULL, 0);
    if (rc != PMIX_ERR_PARTIAL_SUCCESS)
        fail("one of two keys: %s", status_name(rc));
    if (PMIX_VERSION_MAJOR >= 5 && nresults != 1) /* older clients drop them */
        fail("%zu results of one good key", nresults);
    must(ask(good, NULL, 0));
    if (nresults != 2)
        fail("%zu results of two keys", nresults);
    PMIX_INFO_LOAD(&strange, "my.qualifier", &yes, PMIX_BOOL);
    must(ask(sum, &strange, 1));
    PMIX_INFO_REQUIRED(&strange);
    rc = ask(sum, &strange, 1);
    if (rc != PMIX_ERR_NOT_SUPPORTED)
        fail("a required qualifier that nobody knows: %s", status_name(rc));
    one_malformed();
}

static void ask_the_rm(uint32_t limit, const char *job) {
    const pmix_value_t *v = answer_to(PMIX_TIME_REMAINING, NULL, NULL, PMIX_UINT32);
    if (v->data.uint32 == 0 || v->data.uint32 > limit)
        fail("%u seconds are left", v->data.uint32);
    v = answer_to(PMIX_QUERY_QUEUE_LIST, NULL, NULL, PMIX_STRING);
    if (!is_in(v->data.string, "main"))
        fail("the queues are %s", v->data.string);
    v = answer_to(PMIX_QUERY_QUEUE_STATUS, PMIX_ALLOC_QUEUE, "main", PMIX_DATA_ARRAY);
    const pmix_info_t *queue = v->data.darray->array;
    if (v->data.darray->size != 1 || strcmp(queue->key, "main") || strcmp(queue->value.data.string, "up"))
        fail("the status of the queue main");
    v = answer_to(PMIX_QUERY_ALLOC_STATUS, PMIX_ALLOC_ID, job, PMIX_STRING);
    if (strcmp(v->data.string, "RUNNING"))
        fail("the own allocation is %s", v->data.string);
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_QUEUE_STATUS, PMIX_ALLOC_QUEUE, "nothing");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_ALLOC_STATUS, PMIX_ALLOC_ID, "4000000");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_ALLOC_STATUS, PMIX_ALLOC_ID, "my own");
    expect(PMIX_ERR_BAD_PARAM, PMIX_QUERY_ALLOC_STATUS, NULL, NULL);
}

/* No key that is listed is then refused as one that is not offered here; and those of `wanted` are listed,
 * those of `unwanted` not. */
static void ask_all_supported(const char *const *wanted, const char *const *unwanted) {
    char *list = strdup(answer_to(PMIX_QUERY_SUPPORTED_KEYS, NULL, NULL, PMIX_STRING)->data.string);
    for (; *wanted; wanted++)
        if (!is_in(list, *wanted))
            fail("%s is not listed as supported: %s", *wanted, list);
    for (; *unwanted; unwanted++) {
        if (is_in(list, *unwanted))
            fail("%s is listed as supported", *unwanted);
        expect(PMIX_ERR_NOT_SUPPORTED, *unwanted, PMIX_ALLOC_ID, "1");
    }
    char *rest = list;
    for (char *key; (key = strsep(&rest, ","));) {
        pmix_status_t rc = status_of(key, NULL, NULL);
        /* these want to know of which */
        bool of_one = !strcmp(key, PMIX_QUERY_PSET_MEMBERSHIP) || !strcmp(key, PMIX_QUERY_GROUP_MEMBERSHIP) ||
                      !strcmp(key, PMIX_GROUP_NAMES) || !strcmp(key, PMIX_QUERY_ALLOC_STATUS) ||
                      !strcmp(key, PMIX_FORKEXEC_AGENT);
        if (rc != (of_one ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS))
            fail("%s is listed as supported: %s", key, status_name(rc));
    }
    free(list);
}

static const char *const keys_of_the_rm[] = {PMIX_TIME_REMAINING, PMIX_QUERY_ALLOC_STATUS, PMIX_QUERY_QUEUE_LIST,
                                             PMIX_QUERY_QUEUE_STATUS, NULL};
static const char *const no_keys[] = {NULL};

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "job";
    begin(60);
    if (!strcmp(what, "sets")) {
        if (argc > 2)
            expect_sets(argv[2]);
        look_at_sets();
    } else if (!strcmp(what, "fabric")) {
        pmix_fabric_t fabric;
        PMIX_FABRIC_CONSTRUCT(&fabric);
        me.doing = "PMIx_Fabric_register";
        pmix_status_t rc = PMIx_Fabric_register(&fabric, NULL, 0);
        /* the library gives its caller PMIX_SUCCESS, whatever the server has said */
        if ((rc != PMIX_ERR_NOT_SUPPORTED && rc != PMIX_SUCCESS) || fabric.ninfo != 0)
            fail("PMIx_Fabric_register: %s, %zu values", status_name(rc), fabric.ninfo);
        fence();
    } else if (!strcmp(what, "groups")) {
        look_at_groups();
    } else if (!strcmp(what, "job")) {
        look_at_job();
    } else if (!strcmp(what, "table")) {
        look_at_table("query");
    } else if (!strcmp(what, "ended")) {
        see_the_end();
    } else if (!strcmp(what, "mixed")) {
        mixed();
    } else if (!strcmp(what, "rm") && argc > 2) {
        ask_the_rm((uint32_t)atoi(argv[2]), getenv("SLURM_JOB_ID"));
    } else if (!strcmp(what, "supported-rm")) {
        ask_all_supported(keys_of_the_rm, no_keys);
    } else if (!strcmp(what, "supported")) {
        ask_all_supported(no_keys, keys_of_the_rm);
    } else {
        fail("what is '%s'?", what);
    }
    fence();
    pass();
}
