/* A parent, its children and what they may know of each other before they connect, or without.
 *
 *   family CHILDREN [DIRECTIVE=VALUE ...]
 *        The first rank spawns two jobs of CHILDREN processes, one after the other. Each rank of the parent
 *        reads the children's job information and what they have posted, as soon as it has their name,
 *        then all connect with the job, and know who of it is on their host. Each of the children reads what the
 *        other job, its sibling, is and has posted; the two never connect.
 *   family strangers
 *        A namespace that is nobody's is not found, each time, nor is a rank that a job does not have, and
 *        a connect with the former ends with its timeout.
 * The children are the same program: family child NAME PARENT PARENT-SIZE [SIBLING].
 */
#include "peers.h"

static char *get_text(const char *nspace, uint32_t rank, const char *key) {
    pmix_proc_t proc = process(nspace, rank);
    pmix_value_t *v = NULL;
    char *text;
    me.doing = key;
    pmix_status_t rc = PMIx_Get(&proc, key, NULL, 0, &v);
    if (rc != PMIX_SUCCESS || v->type != PMIX_STRING)
        fail("%s of %s %d: %s", key, nspace, (int)rank, status_name(rc));
    text = strdup(v->data.string);
    PMIX_VALUE_RELEASE(v);
    return text;
}

static pmix_status_t get_number(const char *nspace, uint32_t rank, const char *key, const char *how, uint32_t *n) {
    pmix_proc_t proc = process(nspace, rank);
    pmix_value_t *v = NULL;
    pmix_info_t info;
    bool yes = true;
    if (how)
        PMIX_INFO_LOAD(&info, how, &yes, PMIX_BOOL);
    me.doing = key;
    pmix_status_t rc = PMIx_Get(&proc, key, how ? &info : NULL, how ? 1 : 0, &v);
    if (rc != PMIX_SUCCESS)
        return rc;
    *n = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return rc;
}

static uint32_t number(const char *nspace, const char *key) {
    uint32_t n = 0;
    pmix_status_t rc = get_number(nspace, PMIX_RANK_WILDCARD, key, NULL, &n);
    if (rc != PMIX_SUCCESS)
        fail("%s of %s: %s", key, nspace, status_name(rc));
    return n;
}

/* Describes a job in one line, which is the same for whoever looks. */
static void describe(const char *nspace, char *out, size_t size) {
    char *hosts = get_text(nspace, PMIX_RANK_WILDCARD, PMIX_NODE_LIST);
    char *id = get_text(nspace, PMIX_RANK_WILDCARD, PMIX_JOBID);
    snprintf(out, size, "%s: %u processes on %u hosts (%s), at most %u", id, number(nspace, PMIX_JOB_SIZE),
             number(nspace, PMIX_NUM_NODES), hosts, number(nspace, PMIX_MAX_PROCS));
    free(hosts);
    free(id);
}

static void put_text(const char *key, char *text) {
    pmix_value_t v = {.type = PMIX_STRING, .data.string = text};
    must(PMIx_Put(PMIX_GLOBAL, key, &v));
}

/* Who of the job is on the host of that rank. */
static void resolve(const char *nspace, uint32_t rank) {
    pmix_proc_t *procs = NULL;
    size_t count = 0, i = 0;
    char *host = get_text(nspace, rank, "family.host");
    me.doing = "PMIx_Resolve_peers";
    pmix_status_t rc = PMIx_Resolve_peers(host, nspace, &procs, &count);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Resolve_peers of %s on %s: %s", nspace, host, status_name(rc));
    while (i < count && procs[i].rank != rank)
        i++;
    if (i == count)
        fail("rank %u of %s is not among its %zu processes on %s", rank, nspace, count, host);
    PMIX_PROC_FREE(procs, count);
    free(host);
}

/* What a job is, and what each of its processes has posted, is what its processes say. */
static void read_all(const char *nspace, uint32_t size) {
    char seen[2048];
    describe(nspace, seen, sizeof seen);
    for (uint32_t r = 0; r < size; r++) {
        char *told = get_text(nspace, r, "family.self");
        if (strcmp(seen, told) != 0)
            fail("%s is '%s', its rank %u says '%s'", nspace, seen, r, told);
        free(told);
        char expected[PMIX_MAX_NSLEN + 32], *posted = get_text(nspace, r, "family.rank");
        snprintf(expected, sizeof expected, "%s %u", nspace, r);
        if (strcmp(expected, posted) != 0)
            fail("rank %u of %s posted '%s'", r, nspace, posted);
        free(posted);
    }
    resolve(nspace, size - 1);
}

/* The children of the first job learn the name of the second. */
static void tell_second(const char *nspace) {
    char key[PMIX_MAX_KEYLEN + 1];
    snprintf(key, sizeof key, "second of %s", me.proc.nspace);
    publish_text(key, nspace, PMIX_PERSIST_INVALID);
}

static char *hear_of_second(const char *parent) {
    char key[PMIX_MAX_KEYLEN + 1];
    snprintf(key, sizeof key, "second of %s", parent);
    return look_up_text(key, 0);
}

/* What a process says of itself, or "" */
static char *own(const char *key) {
    pmix_value_t *v = NULL;
    if (!get(me.rank, key, &v) || v->type != PMIX_STRING)
        return strdup("");
    char *text = strdup(v->data.string);
    PMIX_VALUE_RELEASE(v);
    return text;
}

/* Asks as MPI libraries do: nobody is asked for what is not here already. */
static char *there(const char *nspace, uint32_t rank, const char *key) {
    pmix_proc_t proc = process(nspace, rank);
    pmix_value_t *v = NULL;
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    me.doing = key;
    pmix_status_t rc = PMIx_Get(&proc, key, &info, 1, &v);
    if (rc != PMIX_SUCCESS)
        return strdup("");
    char *text = strdup(v->type == PMIX_STRING ? v->data.string : "?");
    PMIX_VALUE_RELEASE(v);
    return text;
}

/* Connected jobs know who of the other is on this host, and where there. */
static void see_neighbours(const char *nspace, uint32_t size) {
    char *host = own(PMIX_HOSTNAME), expected[4096] = "";
    for (uint32_t r = 0; r < size; r++) {
        char *its = get_text(nspace, r, "family.host"), number[16];
        if (!strcmp(its, host)) {
            snprintf(number, sizeof number, "%s%u", *expected ? "," : "", r);
            strcat(expected, number);
            char *told = get_text(nspace, r, "family.locality"), *seen = there(nspace, r, PMIX_LOCALITY_STRING);
            if (strcmp(told, seen) != 0)
                fail("the locality of rank %u of %s is '%s', it says '%s'", r, nspace, seen, told);
            free(told);
            free(seen);
        }
        free(its);
    }
    char *peers = there(nspace, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
    if (strcmp(peers, expected) != 0)
        fail("of %s '%s' are on %s, PMIX_LOCAL_PEERS is '%s'", nspace, expected, host, peers);
    free(peers);
    free(host);
}

static void post_self(void) {
    char text[2048];
    describe(me.proc.nspace, text, sizeof text);
    put_text("family.self", text);
    snprintf(text, sizeof text, "%s %u", me.proc.nspace, me.rank);
    put_text("family.rank", text);
    put_text("family.host", own(PMIX_HOSTNAME));
    put_text("family.locality", own(PMIX_LOCALITY_STRING));
    must(PMIx_Commit());
}

/* child NAME PARENT PARENT-SIZE [SIBLING] */
static void child(char **argv) {
    const char *parent = argv[3];
    char *sibling = argv[5];
    post_self();
    read_all(parent, (uint32_t)atoi(argv[4]));
    connect_with(parent);
    see_neighbours(parent, (uint32_t)atoi(argv[4]));
    if (!sibling)
        sibling = hear_of_second(parent);
    read_all(sibling, me.size);
    disconnect_from(parent); /* it has been read */
    connect_with(parent);    /* so has this one */
    pass();
}

static void spawn(uint32_t count, char **argv, char **directives, pmix_nspace_t nspace) {
    pmix_info_t info[4];
    size_t given = 0;
    for (; *directives && given < 4; directives++, given++) {
        char *value = strchr(*directives, '=');
        *value = 0;
        PMIX_INFO_LOAD(&info[given], *directives, value + 1, PMIX_STRING);
        *value = '=';
    }
    spawn_self(argv, count, given ? info : NULL, given, nspace);
}

/* All ranks get the name, and read. */
static void get_to_know(const char *key, char *nspace, uint32_t count) {
    if (me.rank == 0) {
        put_text(key, nspace);
        must(PMIx_Commit());
        /* At once, without asking anybody. */
        uint32_t size = 0;
        pmix_status_t rc = get_number(nspace, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, PMIX_OPTIONAL, &size);
        if (rc != PMIX_SUCCESS || size != count)
            fail("PMIX_JOB_SIZE of the children: %s, %u", status_name(rc), size);
    }
    fence_collect();
    char *known = get_text(me.proc.nspace, 0, key);
    strcpy(nspace, known);
    free(known);
    if (number(nspace, PMIX_JOB_SIZE) != count)
        fail("%s is not %u processes", nspace, count);
    read_all(nspace, count);
    connect_with(nspace);
    see_neighbours(nspace, count);
}

static void expect_none(const char *nspace, uint32_t rank, const char *key) {
    uint32_t n;
    double began = now();
    pmix_status_t rc = get_number(nspace, rank, key, NULL, &n);
    /* libpmix 4.2.2 says the latter of job information when it has been asked for before */
    bool none = rc == PMIX_ERR_NOT_FOUND || rc == PMIX_ERR_INVALID_NAMESPACE || rc == PMIX_ERR_PROC_ENTRY_NOT_FOUND;
    if (!none || now() - began > 15)
        fail("%s of %s %d: %s after %.1f s", key, nspace, (int)rank, status_name(rc), now() - began);
}

static void strangers(void) {
    for (int i = 0; i < 2; i++) {
        expect_none("no.such.job", PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
        expect_none("no.such.job", 0, "some.key");
        expect_none("no.such.job", 1, "some.key");
        expect_none("no.such.job", PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
        expect_none(me.proc.nspace, me.size, "some.key");
    }
    pmix_proc_t procs[2];
    pmix_info_t info;
    int seconds = 2;
    both_jobs(procs, "no.such.job");
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    me.doing = "PMIx_Connect to nobody";
    pmix_status_t rc = PMIx_Connect(procs, 2, &info, 1);
    if (rc == PMIX_SUCCESS)
        fail("a connect with nobody: %s", status_name(rc));
    fence();
    pass();
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    begin(120);
    if (!strcmp(argv[1], "child"))
        child(argv);
    if (!strcmp(argv[1], "strangers"))
        strangers();
    uint32_t count = (uint32_t)atoi(argv[1]);
    char size[16], word[] = "child", b[] = "b", c[] = "c";
    pmix_nspace_t first = "", second = "";
    char *words[] = {NULL, word, b, me.proc.nspace, size, NULL, NULL};
    snprintf(size, sizeof size, "%u", me.size);
    post_self();
    if (me.rank == 0)
        spawn(count, words, argv + 2, first);
    get_to_know("family.first", first, count);
    words[2] = c;
    words[5] = first;
    if (me.rank == 0)
        spawn(count, words, argv + 2, second);
    if (me.rank == 0)
        tell_second(second);
    get_to_know("family.second", second, count);
    disconnect_from(first);
    disconnect_from(second);
    connect_with(first);
    connect_with(second);
    pass();
}
