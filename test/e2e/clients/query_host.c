/* PMIx_Query_info: what a host says of itself, of memory, and of where things are.
 *
 *   query_host memory              memory of daemons and processes, of all, some and one
 *   query_host support RM          functions and attributes of the host; RM (1 or 0): is there a resource manager?
 *   query_host resolve             who is where
 *   query_host allocation SLOTS    the hosts of the allocation, and its free slots: "some", or "none" if nobody tells
 *   query_host rights ALLOWED      what tools may do: these (joined by commas), and nothing else
 *   query_host qualifiers          which qualifiers a key has; what is wrong is refused
 *   query_host servers             the servers of this host that a tool may find
 * What some libraries make of a question by themselves (contrib/doc/decisions/libpmix.md, "Queries"); any answer will
 * do:
 *   query_host rank_alone          PMIX_RANK as a qualifier, without PMIX_NSPACE
 *   query_host own_attributes      the functions of the client's own library
 */
#include "queries.h"

#include <dirent.h>

#ifndef PMIX_QUERY_ALLOCATION
#define PMIX_QUERY_ALLOCATION "pmix.query.allc"
#define PMIX_QUERY_AVAILABLE_SLOTS "pmix.qry.aslots"
#define PMIX_QUERY_RESOLVE_PEERS "pmix.qry.peers"
#define PMIX_QUERY_RESOLVE_NODE "pmix.qry.node"
#endif

enum { MB = 1 << 20, OWN = 48 };

static pmix_status_t ask_with(const char *key, const pmix_info_t *qualifiers, size_t n) {
    const char *keys[] = {key, NULL};
    return ask(keys, qualifiers, n);
}

/* The array of info that is the answer. */
static const pmix_data_array_t *array_of(const char *key, const pmix_info_t *qualifiers, size_t n) {
    pmix_status_t rc = ask_with(key, qualifiers, n);
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", key, status_name(rc));
    if (nresults != 1 || !PMIX_CHECK_KEY(&results[0], key) || results[0].value.type != PMIX_DATA_ARRAY ||
        results[0].value.data.darray->type != PMIX_INFO)
        fail("%s: no array of info", key);
    return results[0].value.data.darray;
}

static const pmix_info_t *entry(const pmix_data_array_t *array, size_t i, const char *key, pmix_data_type_t type) {
    const pmix_info_t *info = array->array;
    if (i >= array->size || !PMIX_CHECK_KEY(&info[i], key) || info[i].value.type != type)
        fail("entry %zu of %zu is no %s", i, array->size, key);
    return &info[i];
}

static float number(const pmix_data_array_t *array, size_t i, const char *key) {
    return entry(array, i, key, PMIX_FLOAT)->value.data.fval;
}

static char *text_of(uint32_t rank, const char *key) {
    pmix_value_t *v;
    if (!get(rank, key, &v) || v->type != PMIX_STRING)
        fail("no %s", key);
    char *text = strdup(v->data.string);
    PMIX_VALUE_RELEASE(v);
    return text;
}

/* --- memory ------------------------------------------------------------------------------------- */

static float resident_mb(const char *statm) {
    unsigned long all, resident;
    FILE *file = fopen(statm, "r");
    bool read = file && fscanf(file, "%lu %lu", &all, &resident) == 2;
    if (file)
        fclose(file);
    return read ? (float)resident * (float)sysconf(_SC_PAGESIZE) / MB : 0;
}

/* Does a daemon run here that has about so much? */
static bool some_daemon_has(float mb) {
    DIR *proc = opendir("/proc");
    struct dirent *each;
    bool found = false;
    while (proc && (each = readdir(proc)) && !found) {
        char path[300], name[32] = "";
        snprintf(path, sizeof(path), "/proc/%s/comm", each->d_name);
        FILE *file = each->d_name[0] >= '1' && each->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        bool daemon = fscanf(file, "%31s", name) == 1 && !strncmp(name, "pmixhostd", 9);
        fclose(file);
        snprintf(path, sizeof(path), "/proc/%s/statm", each->d_name);
        float has = daemon ? resident_mb(path) : 0;
        found = has > mb * 0.8 && has < mb * 1.25;
    }
    if (proc)
        closedir(proc);
    return found;
}

static void look_at_host(const pmix_data_array_t *host, const char *name) {
    const char *told = entry(host, 0, PMIX_HOSTNAME, PMIX_STRING)->value.data.string;
    if (name && strcmp(told, name))
        fail("the memory of %s, not of %s", told, name);
    float daemon = number(host, 1, PMIX_DAEMON_MEMORY), clients = number(host, 2, PMIX_CLIENT_AVG_MEMORY);
    if (daemon < 2 || daemon > 2000 || clients < OWN || clients > OWN * (float)(me.size + 1) + 200)
        fail("%s has %.1f and %.1f MB", told, daemon, clients);
    if (name && !some_daemon_has(daemon))
        fail("no daemon here has %.1f MB", daemon);
}

static void expect_order(const pmix_data_array_t *array, size_t first, const char *key) {
    float average = number(array, first, key), least = number(array, first + 1, key),
          most = number(array, first + 2, key);
    if (least > average || average > most)
        fail("%s: average %.1f of %.1f to %.1f", key, average, least, most);
}

/* Rank N has (N + 1) * OWN MB and a little. */
static void look_at_memory(void) {
    pmix_info_t info[2];
    pmix_proc_t last = process(me.proc.nspace, me.size - 1);
    bool yes = true;
    char *own = malloc((size_t)(me.rank + 1) * OWN * MB);
    memset(own, 1, (size_t)(me.rank + 1) * OWN * MB);
    put_u64("mb", (uint64_t)resident_mb("/proc/self/statm"));
    must(PMIx_Commit());
    fence_collect();

    char *host = text_of(me.rank, PMIX_HOSTNAME);
    PMIX_INFO_LOAD(&info[0], PMIX_QUERY_LOCAL_ONLY, &yes, PMIX_BOOL);
    look_at_host(array_of(PMIX_QUERY_MEMORY_USAGE, info, 1), host);
    PMIX_INFO_LOAD(&info[0], PMIX_HOSTNAME, text_of(me.size - 1, PMIX_HOSTNAME), PMIX_STRING);
    look_at_host(array_of(PMIX_QUERY_MEMORY_USAGE, info, 1), NULL);

    char *nodes = text_of(PMIX_RANK_WILDCARD, PMIX_NODE_LIST);
    size_t count = 1;
    for (const char *at = nodes; (at = strchr(at, ',')); at++)
        count++;
    const pmix_data_array_t *array = array_of(PMIX_QUERY_MEMORY_USAGE, NULL, 0);
    if (array->size != count)
        fail("%zu hosts, not %zu", array->size, count);
    for (size_t i = 0; i < count; i++)
        look_at_host(entry(array, i, PMIX_NODE_INFO_ARRAY, PMIX_DATA_ARRAY)->value.data.darray, NULL);

    PMIX_INFO_LOAD(&info[0], PMIX_PROCID, &last, PMIX_PROC);
    array = array_of(PMIX_QUERY_MEMORY_USAGE, info, 1);
    array = entry(array, 0, PMIX_PROC_INFO_ARRAY, PMIX_DATA_ARRAY)->value.data.darray;
    float told = number(array, 2, PMIX_CLIENT_AVG_MEMORY), has = (float)get_u64(me.size - 1, "mb");
    if (told < has - 8 || told > has + 16)
        fail("rank %u has %.1f MB, not %.1f", last.rank, has, told);
    PMIX_INFO_LOAD(&info[0], PMIX_NSPACE, me.proc.nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_RANK, &last.rank, PMIX_PROC_RANK);
    array = array_of(PMIX_QUERY_MEMORY_USAGE, info, 2);
    if (array->size != 1)
        fail("%zu processes by rank", array->size);

    PMIX_INFO_LOAD(&info[0], PMIX_QUERY_REPORT_AVG, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_QUERY_REPORT_MINMAX, &yes, PMIX_BOOL);
    array = array_of(PMIX_QUERY_MEMORY_USAGE, info, 2);
    expect_order(array, 0, PMIX_DAEMON_MEMORY);
    expect_order(array, 3, PMIX_CLIENT_AVG_MEMORY);
    if (number(array, 5, PMIX_CLIENT_AVG_MEMORY) < has - 8)
        fail("the largest process has %.1f MB", number(array, 5, PMIX_CLIENT_AVG_MEMORY));

    last.rank = me.size;
    PMIX_INFO_LOAD(&info[0], PMIX_PROCID, &last, PMIX_PROC);
    pmix_status_t rc = ask_with(PMIX_QUERY_MEMORY_USAGE, info, 1);
    if (rc != PMIX_ERR_NOT_FOUND)
        fail("the memory of nobody: %s", status_name(rc));
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_MEMORY_USAGE, PMIX_HOSTNAME, "nowhere");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_MEMORY_USAGE, PMIX_NSPACE, "nobody");
    fence();
    free(own);
}

/* --- what there is ------------------------------------------------------------------------------ */

static void look_at_support(bool rm) {
    char *functions = strdup(answer_to(PMIX_HOST_FUNCTIONS, NULL, NULL, PMIX_STRING)->data.string);
    if (!is_in(functions, "PMIx_Fence") || !is_in(functions, "PMIx_Query_info") ||
        is_in(functions, "PMIx_Allocation_request") != rm)
        fail("the functions are %s", functions);
    const pmix_data_array_t *array = array_of(PMIX_HOST_ATTRIBUTES, NULL, 0);
    bool queries = false, times = false, stops = false;
    for (size_t i = 0; i < array->size; i++) {
        const pmix_info_t *function = (pmix_info_t *)array->array + i;
        const pmix_data_array_t *attributes = function->value.data.darray;
        if (!is_in(functions, function->key) || function->value.type != PMIX_DATA_ARRAY ||
            (attributes->size && attributes->type != PMIX_REGATTR))
            fail("attributes of %s", function->key);
        for (size_t j = 0; j < attributes->size; j++) {
            const pmix_regattr_t *one = (pmix_regattr_t *)attributes->array + j;
            stops |= !strcmp(function->key, "PMIx_Spawn") && !strcmp(one->string, PMIX_DEBUG_STOP_ON_EXEC);
            if (strcmp(function->key, "PMIx_Query_info"))
                continue;
            queries |= !strcmp(one->name, "PMIX_QUERY_NAMESPACES") && !strcmp(one->string, PMIX_QUERY_NAMESPACES);
            times |= !strcmp(one->string, PMIX_TIME_REMAINING);
        }
    }
    if (!queries || times != rm)
        fail("the attributes of PMIx_Query_info");
    if (rm && !stops)
        fail("the attributes of PMIx_Spawn");
    /* Not of itself, of which clients of 4.2.2 crash. Servers from 5 on find no attributes of a host. */
    pmix_info_t what;
    const char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, NULL};
    pmix_query_t query = {.keys = (char **)keys, .qualifiers = &what, .nqual = 1};
    pmix_info_t *found = NULL;
    size_t n = 0;
    PMIX_INFO_LOAD(&what, PMIX_HOST_FUNCTIONS, NULL, PMIX_STRING);
    pmix_status_t rc = PMIx_Query_info(&query, 1, &found, &n);
    if (PMIX_VERSION_MAJOR < 5 &&
        (rc != PMIX_SUCCESS || n != 1 || found->value.type != PMIX_DATA_ARRAY ||
         strcmp(entry(found->value.data.darray, 0, PMIX_HOST_FUNCTIONS, PMIX_STRING)->value.data.string, functions)))
        fail("%s: %s", PMIX_QUERY_ATTRIBUTE_SUPPORT, status_name(rc));
    char *spawn = strdup(answer_to(PMIX_QUERY_SPAWN_SUPPORT, NULL, NULL, PMIX_STRING)->data.string);
    char *debug = strdup(answer_to(PMIX_QUERY_DEBUG_SUPPORT, NULL, NULL, PMIX_STRING)->data.string), *rest = debug;
    if (!*debug || (rm && !is_in(debug, PMIX_DEBUG_STOP_ON_EXEC)))
        fail("debugging has %s", debug);
    for (char *key; (key = strsep(&rest, ",")) && *key;)
        if (!is_in(spawn, key))
            fail("debugging has %s, spawning does not", key);
    if (strcmp(answer_to(PMIX_HOSTNAME, NULL, NULL, PMIX_STRING)->data.string, text_of(me.rank, PMIX_HOSTNAME)))
        fail("the host's name");
    /* These the library answers. */
    answer_to(PMIX_QUERY_STABLE_ABI_VERSION, NULL, NULL, PMIX_STRING);
    answer_to(PMIX_QUERY_PROVISIONAL_ABI_VERSION, NULL, NULL, PMIX_STRING);
    /* And this nobody. */
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_STORAGE_LIST, NULL, NULL);
}

/* --- where things are --------------------------------------------------------------------------- */

static void look_at_peers(void) {
    char *nodes = text_of(PMIX_RANK_WILDCARD, PMIX_NODE_LIST), *own = text_of(me.rank, PMIX_HOSTNAME);
    if (strcmp(answer_to(PMIX_QUERY_RESOLVE_NODE, PMIX_NSPACE, me.proc.nspace, PMIX_STRING)->data.string, nodes))
        fail("the hosts are %s, not %s", results[0].value.data.string, nodes);
    char *resolved = NULL;
    must(PMIx_Resolve_nodes(me.proc.nspace, &resolved));
    if (strcmp(resolved, nodes))
        fail("PMIx_Resolve_nodes gives %s, not %s", resolved, nodes);
    uint32_t sum = 0;
    char *rest = nodes;
    for (char *host; (host = strsep(&rest, ","));) {
        const pmix_value_t *v = answer_to(PMIX_QUERY_RESOLVE_PEERS, PMIX_HOSTNAME, host, PMIX_DATA_ARRAY);
        const pmix_proc_t *procs = v->data.darray->array;
        pmix_proc_t *peers = NULL;
        size_t n = 0;
        for (size_t i = 0; i < v->data.darray->size; i++)
            if (strcmp(text_of(procs[i].rank, PMIX_HOSTNAME), host))
                fail("rank %u is not on %s", procs[i].rank, host);
        must(PMIx_Resolve_peers(host, me.proc.nspace, &peers, &n));
        if (n != v->data.darray->size)
            fail("PMIx_Resolve_peers gives %zu on %s, not %zu", n, host, v->data.darray->size);
        sum += (uint32_t)n;
    }
    if (sum != me.size)
        fail("%u processes on all hosts", sum);
    const pmix_value_t *v = answer_to(PMIX_QUERY_RESOLVE_PEERS, NULL, NULL, PMIX_DATA_ARRAY);
    bool here = false;
    for (size_t i = 0; i < v->data.darray->size; i++)
        here |= ((pmix_proc_t *)v->data.darray->array)[i].rank == me.rank;
    if (!here)
        fail("not on the own host, %s", own);
    v = answer_to(PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_HOSTNAME, text_of(me.size - 1, PMIX_HOSTNAME), PMIX_DATA_ARRAY);
    here = false;
    for (size_t i = 0; i < v->data.darray->size; i++)
        here |= ((pmix_proc_info_t *)v->data.darray->array)[i].proc.rank == me.size - 1;
    if (!here)
        fail("the last rank is not on its host");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_RESOLVE_NODE, PMIX_NSPACE, "nobody");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_RESOLVE_PEERS, PMIX_NSPACE, "nobody");
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_HOSTNAME, "nowhere");
}

static void look_at_allocation(const char *slots) {
    char *nodes = text_of(PMIX_RANK_WILDCARD, PMIX_ALLOCATED_NODELIST);
    const pmix_data_array_t *array = array_of(PMIX_QUERY_ALLOCATION, NULL, 0);
    size_t count = 0;
    char *rest = nodes;
    for (char *host; (host = strsep(&rest, ",")); count++) {
        const pmix_data_array_t *node = entry(array, count, PMIX_NODE_INFO, PMIX_DATA_ARRAY)->value.data.darray;
        if (strcmp(entry(node, 0, PMIX_HOSTNAME, PMIX_STRING)->value.data.string, host))
            fail("host %zu of the allocation is not %s", count, host);
    }
    if (array->size != count)
        fail("%zu hosts in the allocation", array->size);
    expect(PMIX_ERR_NOT_FOUND, PMIX_QUERY_ALLOCATION, PMIX_ALLOC_ID, "nothing");
    if (!strcmp(slots, "none")) {
        expect(PMIX_ERR_NOT_SUPPORTED, PMIX_QUERY_AVAILABLE_SLOTS, NULL, NULL);
    } else {
        pmix_value_t *all;
        if (!get(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, &all))
            fail("no PMIX_UNIV_SIZE");
        uint32_t free = answer_to(PMIX_QUERY_AVAILABLE_SLOTS, NULL, NULL, PMIX_UINT32)->data.uint32;
        if (free + me.size > all->data.uint32)
            fail("%u slots of %u are free", free, all->data.uint32);
        PMIX_VALUE_RELEASE(all);
    }
}

/* --- rights, qualifiers, servers ---------------------------------------------------------------- */

static void look_at_rights(const char *allowed) {
    const pmix_data_array_t *array = array_of(PMIX_QUERY_AUTHORIZATIONS, NULL, 0);
    bool observe = false;
    for (size_t i = 0; i < array->size; i++) {
        const pmix_info_t *right = (pmix_info_t *)array->array + i;
        observe |= !strcmp(right->key, "observe");
        if (right->value.type != PMIX_BOOL || right->value.data.flag != is_in(allowed, right->key))
            fail("a tool may %s%s", right->value.data.flag ? "" : "not ", right->key);
    }
    if (!observe)
        fail("nothing is said of \"observe\"");
}

static void look_at_qualifiers(void) {
    const struct {
        const char *key, *qualifier;
    } have[] = {{PMIX_QUERY_MEMORY_USAGE, PMIX_QUERY_REPORT_AVG}, {PMIX_QUERY_MEMORY_USAGE, PMIX_PROCID},
                {PMIX_QUERY_PSET_MEMBERSHIP, PMIX_PSET_NAME},     {PMIX_QUERY_NAMESPACE_INFO, PMIX_NSPACE},
                {PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_HOSTNAME},     {PMIX_QUERY_NUM_PSETS, PMIX_RANGE},
                {PMIX_QUERY_GROUP_MEMBERSHIP, PMIX_GROUP_ID}};
    pmix_info_t info;
    bool yes = true;
    int seven = 7;
    PMIX_INFO_LOAD(&info, PMIX_QUERY_SUPPORTED_QUALIFIERS, &yes, PMIX_BOOL);
    for (size_t i = 0; i < sizeof(have) / sizeof(*have); i++) {
        pmix_status_t rc = ask_with(have[i].key, &info, 1);
        if (rc != PMIX_SUCCESS || nresults != 1 || results[0].value.type != PMIX_STRING)
            fail("the qualifiers of %s: %s", have[i].key, status_name(rc));
        if (!is_in(results[0].value.data.string, have[i].qualifier) ||
            is_in(results[0].value.data.string, PMIX_ALLOC_QUEUE))
            fail("the qualifiers of %s are %s", have[i].key, results[0].value.data.string);
    }
    /* One that this key does not have is ignored, unless it must be obeyed. */
    PMIX_INFO_LOAD(&info, PMIX_ALLOC_QUEUE, "main", PMIX_STRING);
    pmix_status_t rc = ask_with(PMIX_QUERY_NUM_PSETS, &info, 1);
    if (rc != PMIX_SUCCESS)
        fail("another key's qualifier: %s", status_name(rc));
    PMIX_INFO_REQUIRED(&info);
    if ((rc = ask_with(PMIX_QUERY_NUM_PSETS, &info, 1)) != PMIX_ERR_NOT_SUPPORTED)
        fail("another key's qualifier that is required: %s", status_name(rc));
    PMIX_INFO_LOAD(&info, PMIX_QUERY_LOCAL_ONLY, &yes, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&info);
    if ((rc = ask_with(PMIX_QUERY_PROC_TABLE, &info, 1)) != PMIX_SUCCESS)
        fail("a qualifier that is required and known: %s", status_name(rc));
    const char *const texts[] = {PMIX_HOSTNAME, PMIX_NSPACE, PMIX_PSET_NAME, PMIX_GROUP_ID, PMIX_ALLOC_ID};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (!strcmp(texts[i], PMIX_NSPACE))
            continue; /* the library takes it for a text, unseen */
        PMIX_INFO_LOAD(&info, texts[i], &seven, PMIX_INT);
        if ((rc = ask_with(PMIX_QUERY_NUM_PSETS, &info, 1)) != PMIX_ERR_BAD_PARAM)
            fail("a number as %s: %s", texts[i], status_name(rc));
    }
    PMIX_INFO_LOAD(&info, PMIX_NODEID, "first", PMIX_STRING);
    if ((rc = ask_with(PMIX_QUERY_MEMORY_USAGE, &info, 1)) != PMIX_ERR_BAD_PARAM)
        fail("a text as a number: %s", status_name(rc));
}

/* Among others, those of other jobs of this user. */
static void look_at_servers(void) {
    char own[PMIX_MAX_NSLEN + 16];
    snprintf(own, sizeof(own), "%s.server", me.proc.nspace);
    pmix_status_t rc = status_of(PMIX_QUERY_AVAIL_SERVERS, NULL, NULL);
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", PMIX_QUERY_AVAIL_SERVERS, status_name(rc));
    bool found = false;
    for (size_t i = 0; i < nresults; i++) {
        const pmix_data_array_t *server =
            results[i].value.type == PMIX_DATA_ARRAY ? results[i].value.data.darray : NULL;
        for (size_t j = 0; server && server->type == PMIX_INFO && j < server->size; j++) {
            const pmix_info_t *one = (pmix_info_t *)server->array + j;
            found |= one->value.type == PMIX_STRING && strstr(one->value.data.string, own) != NULL;
        }
    }
    if (!found)
        fail("%s is not among %zu servers", own, nresults);
}

static void ask_for_anything(const char *key, const char *qualifier, const void *value, pmix_data_type_t type) {
    const char *keys[] = {key, NULL};
    pmix_info_t info, *found = NULL;
    size_t n = 0;
    PMIX_INFO_LOAD(&info, qualifier, value, type);
    pmix_query_t query = {.keys = (char **)keys, .qualifiers = &info, .nqual = 1};
    watch(5);
    me.doing = "PMIx_Query_info";
    say("answered: %s", status_name(PMIx_Query_info(&query, 1, &found, &n)));
    watch(60);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "support", *how = argc > 2 ? argv[2] : "";
    begin(60);
    if (!strcmp(what, "memory"))
        look_at_memory();
    else if (!strcmp(what, "support"))
        look_at_support(atoi(how));
    else if (!strcmp(what, "resolve"))
        look_at_peers();
    else if (!strcmp(what, "allocation"))
        look_at_allocation(how);
    else if (!strcmp(what, "rights"))
        look_at_rights(how);
    else if (!strcmp(what, "qualifiers"))
        look_at_qualifiers();
    else if (!strcmp(what, "servers"))
        look_at_servers();
    else if (!strcmp(what, "rank_alone"))
        ask_for_anything(PMIX_QUERY_PROC_TABLE, PMIX_RANK, &me.rank, PMIX_PROC_RANK);
    else if (!strcmp(what, "own_attributes"))
        ask_for_anything(PMIX_QUERY_ATTRIBUTE_SUPPORT, PMIX_CLIENT_FUNCTIONS, NULL, PMIX_STRING);
    else
        fail("what is '%s'?", what);
    fence();
    pass();
}
