/* Every attribute that a host registers for a namespace (PMIx_server_register_nspace), seen with
 * the eyes of a client: for itself, for the job, for every other rank, for every node and every
 * application. What is right comes from the command line and from Slurm's own variables, so that
 * nothing is compared with itself.
 *
 * usage: jobinfo [OPTION VALUE]...
 *   --hosts a,b        the job's hosts, in order        --map "0,1;2,3"   the ranks on each
 *   --apps "0-1;2,3"   the ranks of each application    --univ N          slots
 *   --alloc a,b,c      hosts of the allocation          --session N       --jobid TEXT
 *   --own yes          of processes of other hosts, look only at what the job's maps say
 *   --slurm yes        compare with SLURM_*             --mapby --rankby --bindto TEXT
 *
 * Prints "value RANK ATTRIBUTE = X" for what it is told about itself and "check RANK ATTRIBUTE
 * ok|absent|FAIL reason" once for each attribute. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/stat.h>

#include "client.h"

/* --- what is right ------------------------------------------------------------------------------*/

enum { MOST = 4096 };

static struct {
    char *host[MOST];
    uint32_t hosts;
    uint32_t host_of[MOST], local_rank[MOST], app_of[MOST], app_rank[MOST];
    uint32_t local_size[MOST], local_leader[MOST], app_size[MOST], app_leader[MOST];
    char peers[MOST][512]; /* "0,1" by host */
    uint32_t ranks, apps;
    char command[1 << 16]; /* this process' own, words apart by spaces */
    const char *hosts_text, *univ, *alloc, *session, *jobid, *mapby, *rankby, *bindto;
    bool slurm;
    bool own; /* of processes of other hosts, only where they are is known */
} want;

/* Calls `found(group, rank)` for each rank of "0,1;2-3". */
static void each_rank(const char *text, void (*found)(uint32_t, uint32_t)) {
    uint32_t group = 0;
    for (const char *c = text; *c;) {
        char *end;
        unsigned long from = strtoul(c, &end, 10), to = from;
        if (end == c) {
            group += *c++ == ';';
            continue;
        }
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        for (; from <= to && from < MOST; from++)
            found(group, from);
        c = end;
    }
}

static void found_on_host(uint32_t host, uint32_t rank) {
    want.host_of[rank] = host;
    want.local_rank[rank] = want.local_size[host]++;
    if (want.local_rank[rank] == 0 || rank < want.local_leader[host])
        want.local_leader[host] = rank;
    size_t used = strlen(want.peers[host]);
    snprintf(want.peers[host] + used, sizeof(want.peers[host]) - used, "%s%u", used ? "," : "", rank);
    want.ranks++;
}

static void found_in_app(uint32_t app, uint32_t rank) {
    want.app_of[rank] = app;
    want.app_rank[rank] = want.app_size[app]++;
    if (want.app_rank[rank] == 0)
        want.app_leader[app] = rank;
    if (app >= want.apps)
        want.apps = app + 1;
}

static void parse(int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        size_t used = strlen(want.command);
        snprintf(want.command + used, sizeof(want.command) - used, "%s%s", i ? " " : "", argv[i]);
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *o = argv[i], *v = argv[i + 1];
        if (!strcmp(o, "--hosts")) {
            want.hosts_text = v;
            char *copy = strdup(v), *save = NULL;
            for (char *h = strtok_r(copy, ",", &save); h; h = strtok_r(NULL, ",", &save))
                want.host[want.hosts++] = h;
        } else if (!strcmp(o, "--map"))
            each_rank(v, found_on_host);
        else if (!strcmp(o, "--apps"))
            each_rank(v, found_in_app);
        else if (!strcmp(o, "--univ"))
            want.univ = v;
        else if (!strcmp(o, "--alloc"))
            want.alloc = v;
        else if (!strcmp(o, "--session"))
            want.session = v;
        else if (!strcmp(o, "--jobid"))
            want.jobid = v;
        else if (!strcmp(o, "--mapby"))
            want.mapby = v;
        else if (!strcmp(o, "--rankby"))
            want.rankby = v;
        else if (!strcmp(o, "--bindto"))
            want.bindto = v;
        else if (!strcmp(o, "--own"))
            want.own = true;
        else if (!strcmp(o, "--slurm"))
            want.slurm = !strcmp(v, "yes");
        else
            fail("no option %s", o);
    }
    if (want.hosts && !want.apps)
        for (uint32_t r = 0; r < want.ranks; r++)
            found_in_app(0, r);
}

/* --- verdicts: one for each attribute, the first thing that is wrong with it ---------------------*/

static struct verdict {
    const char *name;
    bool checked;
    char wrong[300];
} verdicts[128];

static struct verdict *verdict(const char *name) {
    struct verdict *v = verdicts;
    while (v->name && strcmp(v->name, name))
        v++;
    v->name = name;
    return v;
}

static bool check(const char *name, bool good, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool check(const char *name, bool good, const char *fmt, ...) {
    struct verdict *v = verdict(name);
    v->checked = true;
    if (!good && !*v->wrong) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(v->wrong, sizeof(v->wrong), fmt, ap);
        va_end(ap);
    }
    return good;
}

/* --- fetching -----------------------------------------------------------------------------------*/

struct realm {
    const char *realm; /* PMIX_NODE_INFO, PMIX_APP_INFO, PMIX_SESSION_INFO, PMIX_JOB_INFO or NULL */
    const char *host;  /* the node by name */
    int64_t number;    /* the node or app by number; -1: none */
};
static const struct realm job_realm = {NULL, NULL, -1}, as_job_info = {PMIX_JOB_INFO, NULL, -1};

static pmix_value_t *fetch(const char *key, uint32_t rank, struct realm realm) {
    pmix_proc_t p = me.proc;
    p.rank = rank;
    pmix_info_t info[2];
    size_t n = 0;
    bool yes = true;
    uint32_t number = (uint32_t)realm.number;
    if (realm.realm) {
        PMIX_INFO_LOAD(&info[n], realm.realm, &yes, PMIX_BOOL);
        n++;
    }
    if (realm.host) {
        PMIX_INFO_LOAD(&info[n], PMIX_HOSTNAME, realm.host, PMIX_STRING);
        n++;
    } else if (realm.realm && realm.number >= 0) {
        bool app = !strcmp(realm.realm, PMIX_APP_INFO);
        PMIX_INFO_LOAD(&info[n], app ? PMIX_APPNUM : PMIX_NODEID, &number, PMIX_UINT32);
        n++;
    }
    pmix_value_t *v = NULL;
    me.doing = key;
    pmix_status_t rc = PMIx_Get(&p, key, n ? info : NULL, n, &v);
    return rc == PMIX_SUCCESS ? v : NULL;
}

static void describe(const pmix_value_t *v, char *out, size_t size) {
    switch (v->type) {
    case PMIX_STRING:
        snprintf(out, size, "%s", v->data.string ? v->data.string : "(null)");
        break;
    case PMIX_UINT16:
        snprintf(out, size, "%u", v->data.uint16);
        break;
    case PMIX_UINT32:
        snprintf(out, size, "%u", v->data.uint32);
        break;
    case PMIX_PROC_RANK:
        snprintf(out, size, "%u", v->data.rank);
        break;
    case PMIX_UINT64:
        snprintf(out, size, "%llu", (unsigned long long)v->data.uint64);
        break;
    case PMIX_BOOL:
        snprintf(out, size, "%s", v->data.flag ? "true" : "false");
        break;
    case PMIX_PROC:
        snprintf(out, size, "%s.%u", v->data.proc->nspace, v->data.proc->rank);
        break;
    case PMIX_DATA_ARRAY: {
        size_t used = 0;
        *out = 0;
        if (v->data.darray->type != PMIX_PROC) {
            snprintf(out, size, "array of type %d", v->data.darray->type);
            break;
        }
        const pmix_proc_t *procs = v->data.darray->array;
        for (size_t i = 0; i < v->data.darray->size && used < size; i++)
            used += snprintf(out + used, size - used, "%s%u", used ? "," : "", procs[i].rank);
        break;
    }
    default:
        snprintf(out, size, "type %d", v->type);
    }
}

/* Fetches and compares. `expected` NULL: any value. Without a value: the attribute stays absent. */
static bool same(const char *name, const char *key, uint32_t rank, struct realm realm, pmix_data_type_t type,
                 const char *expected) {
    pmix_value_t *v = fetch(key, rank, realm);
    if (!v) {
        if (verdict(name)->checked) /* it is there for others */
            check(name, false, "nothing for rank %d realm %s %s %lld", (int)rank, realm.realm ? realm.realm : "job",
                  realm.host ? realm.host : "", (long long)realm.number);
        return false;
    }
    static char text[1 << 16];
    describe(v, text, sizeof(text));
    bool own = rank == me.rank || (rank == PMIX_RANK_WILDCARD && !realm.realm);
    if (own)
        say("value %u %s = %.300s", me.rank, name, text);
    bool good = check(name, v->type == type, "type %d instead of %d", v->type, type);
    if (good && expected)
        good = check(name, !strcmp(text, expected), "%.100s instead of %.100s (rank %d%s%s)", text, expected, (int)rank,
                     realm.host ? " host " : "", realm.host ? realm.host : "");
    PMIX_VALUE_RELEASE(v);
    return good;
}
#define SAME(attribute, rank, realm, type, expected) same(#attribute, attribute, rank, realm, type, expected)

static const char *num(uint64_t n) {
    static char text[8][24];
    static unsigned next;
    char *t = text[next++ % 8];
    snprintf(t, 24, "%llu", (unsigned long long)n);
    return t;
}

static const uint32_t job = PMIX_RANK_WILDCARD;

/* --- the groups of attributes, as the standard lists them ----------------------------------------*/

static void at_least(const char *name, const char *key, uint32_t least) {
    pmix_value_t *v = fetch(key, job, job_realm);
    if (v && v->type == PMIX_UINT32)
        check(name, v->data.uint32 >= least, "%u for %u processes", v->data.uint32, least);
}

static void namespace_wide(void) {
    bool map = want.hosts > 0;
    char server[PMIX_MAX_NSLEN + 16];
    snprintf(server, sizeof(server), "%s.server", me.proc.nspace);
    SAME(PMIX_NSPACE, job, job_realm, PMIX_STRING, me.proc.nspace);
    SAME(PMIX_JOBID, job, job_realm, PMIX_STRING, want.jobid);
    SAME(PMIX_NODE_LIST, job, job_realm, PMIX_STRING, want.hosts_text);
    SAME(PMIX_UNIV_SIZE, job, job_realm, PMIX_UINT32, want.univ);
    SAME(PMIX_JOB_SIZE, job, job_realm, PMIX_UINT32, map ? num(want.ranks) : NULL);
    SAME(PMIX_MAX_PROCS, job, job_realm, PMIX_UINT32, want.univ);
    at_least("PMIX_UNIV_SIZE", PMIX_UNIV_SIZE, me.size);
    at_least("PMIX_MAX_PROCS", PMIX_MAX_PROCS, me.size);
    SAME(PMIX_NUM_NODES, job, job_realm, PMIX_UINT32, map ? num(want.hosts) : NULL);
    SAME(PMIX_SERVER_NSPACE, job, job_realm, PMIX_STRING, server);
    SAME(PMIX_SERVER_RANK, job, job_realm, PMIX_PROC_RANK, map ? num(want.host_of[me.rank]) : NULL);
    SAME(PMIX_NPROC_OFFSET, job, job_realm, PMIX_PROC_RANK, "0");
    SAME(PMIX_SESSION_ID, job, job_realm, PMIX_UINT32, want.session);
    SAME(PMIX_ALLOCATED_NODELIST, job, job_realm, PMIX_STRING, want.alloc);
    SAME(PMIX_JOB_NUM_APPS, job, job_realm, PMIX_UINT32, map ? num(want.apps) : NULL);
    SAME(PMIX_MAPBY, job, job_realm, PMIX_STRING, want.mapby);
    SAME(PMIX_RANKBY, job, job_realm, PMIX_STRING, want.rankby);
    SAME(PMIX_BINDTO, job, job_realm, PMIX_STRING, want.bindto);
    /* The maps are the library's to unpack; what it made of them is what a client can ask. */
    char *nodes = NULL;
    me.doing = "PMIx_Resolve_nodes";
    if (PMIx_Resolve_nodes(me.proc.nspace, &nodes) == PMIX_SUCCESS && nodes)
        check("PMIX_NODE_MAP", !map || !strcmp(nodes, want.hosts_text), "PMIx_Resolve_nodes: %s", nodes);
    for (uint32_t h = 0; h < want.hosts; h++) {
        pmix_proc_t *procs = NULL;
        size_t n = 0, used = 0;
        char text[512] = "";
        me.doing = "PMIx_Resolve_peers";
        if (PMIx_Resolve_peers(want.host[h], me.proc.nspace, &procs, &n) != PMIX_SUCCESS)
            continue;
        for (size_t i = 0; i < n && used < sizeof(text); i++)
            used += snprintf(text + used, sizeof(text) - used, "%s%u", i ? "," : "", procs[i].rank);
        check("PMIX_PROC_MAP", !strcmp(text, want.peers[h]), "PMIx_Resolve_peers %s: %s, not %s", want.host[h], text,
              want.peers[h]);
    }
}

static void for_each_rank(void) {
    /* PMIX_RANK itself is the key under which libpmix keeps what follows, it cannot be asked for */
    const char *rank = getenv("PMIX_RANK");
    check("PMIX_RANK", rank && (uint32_t)atoi(rank) == me.rank, "PMIX_RANK=%s", rank);
    /* itself first: what is there for itself must be there for all */
    for (uint32_t i = 0; i < me.size; i++) {
        uint32_t r = (me.rank + i) % me.size, h = want.host_of[r];
        bool map = want.hosts > 0;
        char procid[PMIX_MAX_NSLEN + 32];
        snprintf(procid, sizeof(procid), "%s.%u", me.proc.nspace, r);
        SAME(PMIX_LOCAL_RANK, r, job_realm, PMIX_UINT16, map ? num(want.local_rank[r]) : NULL);
        SAME(PMIX_NODE_RANK, r, job_realm, PMIX_UINT16, map ? num(want.local_rank[r]) : NULL);
        /* libpmix 4.2 takes this for a question about the node of that name, and then looks only
         * in the client's own store, unless told that the job's word is wanted */
        SAME(PMIX_NODEID, r, r == me.rank ? job_realm : as_job_info, PMIX_UINT32, map ? num(h) : NULL);
        SAME(PMIX_HOSTNAME, r, job_realm, PMIX_STRING, map ? want.host[h] : NULL);
        if (want.own && h != want.host_of[me.rank])
            continue;
        SAME(PMIX_GLOBAL_RANK, r, job_realm, PMIX_PROC_RANK, num(r));
        SAME(PMIX_APPNUM, r, job_realm, PMIX_UINT32, map ? num(want.app_of[r]) : NULL);
        SAME(PMIX_APP_RANK, r, job_realm, PMIX_PROC_RANK, map ? num(want.app_rank[r]) : NULL);
        SAME(PMIX_PROCID, r, job_realm, PMIX_PROC, procid);
        if (want.hosts && h != want.host_of[me.rank])
            continue;
        SAME(PMIX_CPUSET, r, job_realm, PMIX_STRING, NULL);
    }
}

static void node_realm(void) {
    SAME(PMIX_LOCAL_SIZE, job, job_realm, PMIX_UINT32, want.hosts ? num(want.local_size[want.host_of[me.rank]]) : NULL);
    SAME(PMIX_LOCAL_PEERS, job, job_realm, PMIX_STRING, want.hosts ? want.peers[want.host_of[me.rank]] : NULL);
    SAME(PMIX_LOCALLDR, job, job_realm, PMIX_PROC_RANK,
         want.hosts ? num(want.local_leader[want.host_of[me.rank]]) : NULL);
    SAME(PMIX_LOCAL_CPUSETS, job, job_realm, PMIX_STRING, NULL);
    SAME(PMIX_AVAIL_PHYS_MEMORY, job, job_realm, PMIX_UINT64,
         num((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE)));
    SAME(PMIX_NODE_SIZE, job, job_realm, PMIX_UINT32, want.hosts ? num(want.local_size[want.host_of[me.rank]]) : NULL);
    SAME(PMIX_LOCAL_PROCS, job, job_realm, PMIX_DATA_ARRAY, want.hosts ? want.peers[want.host_of[me.rank]] : NULL);
    for (uint32_t h = 0; h < want.hosts; h++) {
        struct realm by_name = {PMIX_NODE_INFO, want.host[h], -1};
        struct realm by_id = {PMIX_NODE_INFO, NULL, h};
        for (int i = 0; i < 2; i++) {
            struct realm node = i ? by_id : by_name;
            SAME(PMIX_LOCAL_SIZE, job, node, PMIX_UINT32, num(want.local_size[h]));
            SAME(PMIX_LOCAL_PEERS, job, node, PMIX_STRING, want.peers[h]);
            SAME(PMIX_LOCALLDR, job, node, PMIX_PROC_RANK, num(want.local_leader[h]));
        }
        /* a node's number by its name and the reverse: nobody has to tell, but not wrongly */
        pmix_value_t *v = fetch(PMIX_NODEID, job, by_name);
        if (v)
            check("PMIX_NODEID", v->data.uint32 == h, "host %s has %u", want.host[h], v->data.uint32);
        v = fetch(PMIX_HOSTNAME, job, by_id);
        if (v)
            check("PMIX_HOSTNAME", !strcmp(v->data.string, want.host[h]), "node %u is %s", h, v->data.string);
    }
}

static void app_realm(void) {
    SAME(PMIX_APPLDR, me.rank, job_realm, PMIX_PROC_RANK,
         want.apps ? num(want.app_leader[want.app_of[me.rank]]) : NULL);
    SAME(PMIX_APP_SIZE, me.rank, job_realm, PMIX_UINT32, want.apps ? num(want.app_size[want.app_of[me.rank]]) : NULL);
    for (uint32_t a = 0; a < want.apps; a++) {
        struct realm app = {PMIX_APP_INFO, NULL, a};
        SAME(PMIX_APP_SIZE, job, app, PMIX_UINT32, num(want.app_size[a]));
        SAME(PMIX_APPLDR, job, app, PMIX_PROC_RANK, num(want.app_leader[a]));
        if (a == want.app_of[me.rank])
            SAME(PMIX_APP_ARGV, job, app, PMIX_STRING, want.command);
    }
}

static void session_realm(void) {
    struct realm session = {PMIX_SESSION_INFO, NULL, -1};
    SAME(PMIX_UNIV_SIZE, job, session, PMIX_UINT32, want.univ);
    SAME(PMIX_ALLOCATED_NODELIST, job, session, PMIX_STRING, want.alloc);
}

/* "hwloc:0-1,4" against the kernel's idea of this process. */
static void cpuset(void) {
    pmix_value_t *v = fetch(PMIX_CPUSET, me.rank, job_realm);
    if (!v)
        return;
    cpu_set_t kernel, told;
    CPU_ZERO(&kernel);
    CPU_ZERO(&told);
    sched_getaffinity(0, sizeof(kernel), &kernel);
    const char *text = v->type == PMIX_STRING ? v->data.string : "";
    const char *c = strchr(text, ':') ? strchr(text, ':') + 1 : text;
    while (*c) {
        char *end;
        unsigned long from = strtoul(c, &end, 10), to = from;
        if (end == c)
            break;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        for (; from <= to && from < CPU_SETSIZE; from++)
            CPU_SET(from, &told);
        c = *end == ',' ? end + 1 : end;
    }
    check("PMIX_CPUSET", CPU_EQUAL(&kernel, &told), "'%s' has %d CPUs, the kernel says %d", text, CPU_COUNT(&told),
          CPU_COUNT(&kernel));
    bool bound = CPU_COUNT(&kernel) < sysconf(_SC_NPROCESSORS_ONLN);
    PMIX_VALUE_RELEASE(v);
    if (!SAME(PMIX_LOCALITY_STRING, me.rank, job_realm, PMIX_STRING, NULL) && bound)
        check("PMIX_LOCALITY_STRING", false, "nothing, although the process is bound");
}

static void topology(void) {
    /* how the topology reaches the client is the library's choice: as text or as shared memory */
    pmix_topology_t topo = {0};
    me.doing = "PMIx_Load_topology";
    if (PMIx_Load_topology(&topo) == PMIX_SUCCESS)
        check("topology", topo.topology && topo.source && !strncmp(topo.source, "hwloc", 5), "source %s",
              topo.source ? topo.source : "none");
    pmix_value_t *v = fetch(PMIX_HWLOC_XML_V2, job, job_realm);
    if (v)
        check("PMIX_HWLOC_XML_V2", v->type == PMIX_STRING && strstr(v->data.string, "<topology"), "no XML");
    v = fetch(PMIX_HWLOC_XML_V1, job, job_realm);
    if (v)
        check("PMIX_HWLOC_XML_V1", v->type == PMIX_STRING && strstr(v->data.string, "<topology"), "no XML");
}

static void directory(const char *name, const char *key) {
    pmix_value_t *v = fetch(key, job, job_realm);
    if (!v)
        v = fetch(key, me.rank, job_realm);
    if (!v)
        return;
    const char *path = v->type == PMIX_STRING ? v->data.string : "";
    say("value %u %s = %s", me.rank, name, path);
    struct stat st;
    check(name, stat(path, &st) == 0 && S_ISDIR(st.st_mode), "%s is no directory", path);
    check(name, access(path, W_OK) == 0, "%s is not writable", path);
    PMIX_VALUE_RELEASE(v);
}

/* Slurm tells each task the same facts in its own words. */
static void slurm_variables(void) {
    struct {
        const char *variable, *name, *key;
        uint32_t rank;
    } rows[] = {
        {"SLURM_PROCID", "PMIX_RANK", PMIX_RANK, me.rank},
        {"SLURM_LOCALID", "PMIX_LOCAL_RANK", PMIX_LOCAL_RANK, me.rank},
        {"SLURM_NODEID", "PMIX_NODEID", PMIX_NODEID, me.rank},
        {"SLURMD_NODENAME", "PMIX_HOSTNAME", PMIX_HOSTNAME, me.rank},
        {"SLURM_GTIDS", "PMIX_LOCAL_PEERS", PMIX_LOCAL_PEERS, job},
        {"SLURM_STEP_NUM_TASKS", "PMIX_JOB_SIZE", PMIX_JOB_SIZE, job},
        {"SLURM_STEP_NUM_NODES", "PMIX_NUM_NODES", PMIX_NUM_NODES, job},
        {"SLURM_JOB_ID", "PMIX_SESSION_ID", PMIX_SESSION_ID, job},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *theirs = getenv(rows[i].variable);
        pmix_value_t *v = fetch(rows[i].key, rows[i].rank, job_realm);
        if (!v)
            continue;
        char text[1024];
        describe(v, text, sizeof(text));
        PMIX_VALUE_RELEASE(v);
        check(rows[i].name, theirs && !strcmp(theirs, text), "%s, but %s=%s", text, rows[i].variable,
              theirs ? theirs : "(not set)");
    }
    const char *of_job = getenv("SLURM_JOB_ID"), *of_step = getenv("SLURM_STEP_ID");
    char step[64];
    snprintf(step, sizeof(step), "%s.%s", of_job ? of_job : "", of_step ? of_step : "");
    SAME(PMIX_JOBID, job, job_realm, PMIX_STRING, step);
}

int main(int argc, char **argv) {
    parse(argc, argv);
    begin(60);
    namespace_wide();
    for_each_rank();
    node_realm();
    app_realm();
    session_realm();
    cpuset();
    topology();
    directory("PMIX_TMPDIR", PMIX_TMPDIR);
    directory("PMIX_NSDIR", PMIX_NSDIR);
    directory("PMIX_PROCDIR", PMIX_PROCDIR);
    SAME(PMIX_TDIR_RMCLEAN, job, job_realm, PMIX_BOOL, NULL);
    if (want.slurm)
        slurm_variables();
    int wrong = 0;
    for (struct verdict *v = verdicts; v->name; v++) {
        wrong += *v->wrong != 0;
        say("check %u %s %s%s", me.rank, v->name, *v->wrong ? "FAIL " : v->checked ? "ok" : "absent", v->wrong);
    }
    fence();
    if (wrong)
        fail("%d attributes are wrong", wrong);
    pass();
}
