/* Events between the processes of a job, and those that the host reports.
 * usage: events ranges         every rank notifies over every range: each handler that is in the range
 *                              is called once for each, in the order of sending, and no other is;
 *                              those of other hosts name the server that they came from
 *        events late           who registers after an event was notified hears of it
 *        events hoard         rank 0 notifies 300 MiB that nobody listens to: no daemon of another host
 *                              keeps them for late registrants; what is small is kept. A host's
 *                              processes must be one job's
 *        events storm COUNT [BYTES]   rank 0 notifies so many at once, while the others fence. With BYTES
 *                              of data in each some may be refused; the others come, and no daemon of
 *                              this job on this host has ever had more than 300 MiB. COUNT * BYTES must
 *                              be less than what a daemon keeps for a library that lags (64 MiB)
 *        events dies HOW       the last rank ends: kill, exit (3), quit (0) without PMIx_Finalize;
 *                              late (3), leave (0) after it. The others hear of it.
 *        events condemned      the last rank ends with 3 in a job that is ended for it (-K): the others hear
 *                              of it, and that it will be. They are deaf to SIGTERM
 *        events lost           the link to a host is cut: every rank hears of a host that is lost
 *        events down HOST [kill]   says "there", and waits until that host is lost: whoever is not there hears
 *                              of it, with its processes, and those who are left have a fence */
#include <dirent.h>

#include "events.h"

enum { EVENT = 7001, LAST = 7002, MAX_RANKS = 64, KINDS = 9, ROUNDS = 20 };

static struct {
    unsigned count[KINDS];
    uint64_t last;     /* number of the last event */
    pmix_proc_t proxy; /* the server that it came from */
    bool over;
} from[MAX_RANKS];
static uint32_t taken; /* how many events rank 0 could notify, as its last one says */
static unsigned ends;  /* how many have said LAST, or how many ends were reported */

static struct {
    uint32_t rank;
    int code, exit_code, term_status;
    char host[256];
    bool stamped;
    size_t nprocs;
    pmix_proc_t procs[MAX_RANKS];
    char ends[64]; /* what is ended for it */
} report = {.exit_code = -1};

static void note(const struct event *event) {
    const pmix_value_t *kind = carried(event, "test.kind", PMIX_UINT32),
                       *number = carried(event, "test.number", PMIX_UINT64);
    uint32_t rank = event->source->rank;
    if (strcmp(event->source->nspace, me.proc.nspace) || rank >= me.size) {
        note_wrong("an event of %s:%u", event->source->nspace, rank);
    } else if (rank == me.rank) {
        ; /* the library's own affair */
    } else if (event->code == LAST) {
        const pmix_value_t *proxy = carried(event, PMIX_EVENT_PROXY, PMIX_PROC);
        if (proxy)
            from[rank].proxy = *proxy->data.proc;
        from[rank].over = true;
        taken = kind ? kind->data.uint32 : 0;
        ends++;
    } else if (!kind || kind->data.uint32 >= KINDS || !number) {
        note_wrong("an event of rank %u without its data", rank);
    } else {
        from[rank].count[kind->data.uint32]++;
        if (number->data.uint64 <= from[rank].last)
            note_wrong("event %lu of rank %u came after %lu", (unsigned long)number->data.uint64, rank,
                       (unsigned long)from[rank].last);
        from[rank].last = number->data.uint64;
        if (from[rank].over)
            note_wrong("an event of rank %u after its last", rank);
    }
}
EVENT_HANDLER(on_event, note, PMIX_SUCCESS)

static void note_report(const struct event *event) {
    const pmix_value_t *v;
    report.code = event->code;
    if ((v = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC)))
        report.rank = v->data.proc->rank;
    if ((v = carried(event, PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY))) {
        report.nprocs = v->data.darray->size;
        size_t kept = report.nprocs < MAX_RANKS ? report.nprocs : MAX_RANKS;
        memcpy(report.procs, v->data.darray->array, kept * sizeof report.procs[0]);
    }
    if ((v = carried(event, PMIX_EXIT_CODE, PMIX_INT)))
        report.exit_code = v->data.integer;
    if ((v = carried(event, PMIX_PROC_TERM_STATUS, PMIX_STATUS)))
        report.term_status = v->data.status;
    if ((v = carried(event, PMIX_HOSTNAME, PMIX_STRING)))
        snprintf(report.host, sizeof(report.host), "%s", v->data.string);
    if ((v = carried(event, PMIX_EVENT_TIMESTAMP, PMIX_TIME)))
        report.stamped = labs((long)(time(NULL) - v->data.time)) < 60;
    ended_for_it(event, report.ends, sizeof report.ends);
    ends++;
}
EVENT_HANDLER(on_report, note_report, PMIX_SUCCESS)

static void note_any(const struct event *event) {
    note_wrong("a default handler heard %s of %s:%u", status_name(event->code), event->source->nspace,
               event->source->rank);
}
EVENT_HANDLER(on_any, note_any, PMIX_SUCCESS)

static struct answer acks;
static int refused; /* the last status that was none of success */
static uint32_t refusals;
/* The values of an event are the library's until it calls back (libpmix 7 reads them until then). */
struct values {
    pmix_info_t info[8];
    size_t count;
};

static void free_values(struct values *values) {
    for (size_t i = 0; i < values->count; i++)
        PMIX_INFO_DESTRUCT(&values->info[i]);
    free(values);
}

static void on_ack(pmix_status_t status, void *cbdata) {
    if (status != PMIX_SUCCESS) {
        refused = status;
        refusals++;
    }
    free_values(cbdata);
    sem_post(&acks.came);
}

static uint64_t sent;
static size_t ballast; /* bytes in each event */

static void notify(pmix_status_t code, uint32_t kind, pmix_data_range_t range, const pmix_proc_t *to, size_t nto,
                   bool wait) {
    struct values *values = calloc(1, sizeof *values);
    pmix_info_t *info = values->info;
    size_t n = 0;
    uint64_t number = ++sent;
    bool yes = true;
    if (ballast) {
        char *bytes = calloc(1, ballast);
        pmix_byte_object_t object = {.bytes = bytes, .size = ballast};
        PMIX_INFO_LOAD(&info[n], "test.ballast", &object, PMIX_BYTE_OBJECT);
        n++;
        free(bytes);
    }
    PMIX_INFO_LOAD(&info[n], "test.kind", &kind, PMIX_UINT32);
    n++;
    PMIX_INFO_LOAD(&info[n], "test.number", &number, PMIX_UINT64);
    n++;
    PMIX_INFO_LOAD(&info[n], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    n++;
    /* libpmix 4.2.2 neither hands an event of this range on nor answers it when it may keep it. */
    if (range == PMIX_RANGE_RM) {
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_DO_NOT_CACHE, &yes, PMIX_BOOL);
        n++;
    }
    if (nto == 1) {
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_CUSTOM_RANGE, to, PMIX_PROC);
        n++;
    } else if (nto > 1) {
        pmix_data_array_t array = {.type = PMIX_PROC, .size = nto, .array = (void *)to};
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        n++;
    }
    me.doing = "PMIx_Notify_event";
    values->count = n;
    pmix_status_t rc = PMIx_Notify_event(code, &me.proc, range, info, n, on_ack, values);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("PMIx_Notify_event: %s", status_name(rc));
    if (rc == PMIX_OPERATION_SUCCEEDED) { /* it does not call back */
        free_values(values);
        sem_post(&acks.came);
    }
    if (wait)
        answer_wait(&acks, "PMIx_Notify_event");
}

static const struct {
    pmix_data_range_t range;
    const char *name;
} kinds[KINDS] = {{PMIX_RANGE_NAMESPACE, "namespace"},
                  {PMIX_RANGE_SESSION, "session"},
                  {PMIX_RANGE_GLOBAL, "global"},
                  {PMIX_RANGE_LOCAL, "local"},
                  {PMIX_RANGE_CUSTOM, "custom, one"},
                  {PMIX_RANGE_CUSTOM, "custom, two"},
                  {PMIX_RANGE_RM, "rm"},
                  {PMIX_RANGE_PROC_LOCAL, "proc-local"},
                  {PMIX_RANGE_UNDEF, "none"}};

static bool in_range(uint32_t kind, uint32_t source) {
    uint32_t next = (source + 1) % me.size, half = (source + me.size / 2) % me.size;
    switch (kinds[kind].range) {
    case PMIX_RANGE_RM:
    case PMIX_RANGE_PROC_LOCAL:
        return false;
    case PMIX_RANGE_LOCAL:
        return on_my_host(source);
    case PMIX_RANGE_CUSTOM:
        return me.rank == next || (kind == 5 && me.rank == half);
    default:
        return true;
    }
}

/* libpmix 4.2 takes the key for a question about a node, unless told that the job's word is wanted. */
static uint32_t host_of(uint32_t rank) {
    pmix_value_t *v;
    pmix_info_t as_job_info;
    pmix_proc_t who = process(me.proc.nspace, rank);
    PMIX_INFO_LOAD(&as_job_info, PMIX_JOB_INFO, NULL, PMIX_BOOL);
    must(PMIx_Get(&who, PMIX_NODEID, &as_job_info, 1, &v));
    uint32_t host = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return host;
}

/* libpmix gives the events of a host's own processes to the others there by itself, without the host environment. */
static void check_proxies(void) {
    pmix_value_t *server;
    if (!get(PMIX_RANK_WILDCARD, PMIX_SERVER_NSPACE, &server))
        fail("no PMIX_SERVER_NSPACE");
    for (uint32_t p = 0; p < me.size; p++) {
        uint32_t host = host_of(p);
        if (host != host_of(me.rank) &&
            (strcmp(from[p].proxy.nspace, server->data.string) || from[p].proxy.rank != host))
            fail("an event of rank %u on host %u came from '%s':%u", p, host, from[p].proxy.nspace, from[p].proxy.rank);
    }
    PMIX_VALUE_RELEASE(server);
}

static void ranges(void) {
    pmix_status_t codes[] = {EVENT, LAST};
    register_for(codes, 2, on_event);
    fence();
    for (unsigned round = 0; round < ROUNDS; round++)
        for (uint32_t k = 0; k < KINDS; k++) {
            pmix_proc_t to[2] = {process(me.proc.nspace, (me.rank + 1) % me.size),
                                 process(me.proc.nspace, (me.rank + me.size / 2) % me.size)};
            notify(EVENT, k, kinds[k].range, to, k == 4 ? 1 : k == 5 ? 2 : 0, true);
        }
    notify(LAST, 0, PMIX_RANGE_NAMESPACE, NULL, 0, true);
    wait_for_count(&ends, me.size - 1, "the last event of each rank");
    for (uint32_t p = 0; p < me.size; p++)
        for (uint32_t k = 0; k < KINDS && p != me.rank; k++) {
            unsigned wanted = in_range(k, p) ? ROUNDS : 0;
            if (from[p].count[k] != wanted)
                fail("%u events of rank %u to %s came, not %u", from[p].count[k], p, kinds[k].name, wanted);
        }
    if (refused)
        fail("an event was answered with %s", status_name(refused));
    check_proxies();
    fence();
}

static void late(void) {
    pmix_status_t code = LAST;
    if (me.rank == 0)
        notify(LAST, 0, PMIX_RANGE_NAMESPACE, NULL, 0, true);
    fence();
    register_for(&code, 1, on_event);
    if (me.rank != 0)
        wait_for_count(&ends, 1, "an event from before the registration");
    fence();
}

struct process {
    char name[32];
    long parent, user, peak; /* KiB */
};

static struct process look_up(long pid) {
    struct process p = {.parent = 0, .user = -1};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "Name: %31s", p.name);
        sscanf(line, "PPid: %ld", &p.parent);
        sscanf(line, "Uid: %ld", &p.user);
        sscanf(line, "VmHWM: %ld", &p.peak);
    }
    if (file)
        fclose(file);
    return p;
}

/* A sanitizer's own memory is not what is measured. */
static bool sanitized(long pid) {
    char path[64], line[4096];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        found = found || strstr(line, "libasan") || strstr(line, "libtsan");
    if (file)
        fclose(file);
    return found;
}

/* The most that a pmixhostd of this job has had on this host, in KiB, 0 when there is none. The local
 * backend's are relatives: other jobs may run on this machine. Slurm's are not, but a host is one test's. */
static long daemon_peak(void) {
    long peak = 0, ancestor = 0;
    for (long pid = getpid(); pid > 1;) {
        struct process p = look_up(pid);
        if (!strncmp(p.name, "pmixhost", 8))
            ancestor = pid; /* in the end the launcher */
        pid = p.parent;
    }
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        long pid = atol(entry->d_name);
        struct process p = look_up(pid);
        if (pid <= 0 || strcmp(p.name, "pmixhostd") || p.user != (long)getuid())
            continue;
        bool related = !ancestor;
        for (long at = pid; !related && at > 1; at = look_up(at).parent)
            related = at == ancestor;
        if (!related)
            continue;
        long counted = sanitized(pid) ? 1 : p.peak;
        peak = counted > peak ? counted : peak;
    }
    if (proc)
        closedir(proc);
    return peak;
}

static uint64_t storm_size;
static bool storm_over(void) {
    return from[0].over;
}

static void storm(void) {
    pmix_status_t codes[] = {EVENT, LAST};
    register_for(codes, 2, on_event);
    fence();
    if (me.rank == 0) {
        for (uint64_t i = 0; i < storm_size; i++)
            notify(EVENT, 0, PMIX_RANGE_NAMESPACE, NULL, 0, false);
        for (uint64_t i = 0; i < storm_size; i++)
            answer_wait(&acks, "the answers to the storm");
        if (refused && !ballast)
            fail("an event was answered with %s", status_name(refused));
        uint32_t accepted = (uint32_t)storm_size - refusals;
        say("storm: %u of %lu events were taken", accepted, (unsigned long)storm_size);
        ballast = 0;
        for (;;) {
            refused = 0;
            notify(LAST, accepted, PMIX_RANGE_NAMESPACE, NULL, 0, true);
            if (refused != PMIX_ERR_OUT_OF_RESOURCE)
                break;
            usleep(10 * 1000); /* there is room soon */
        }
    } else {
        size_t n;
        pmix_proc_t *listeners = all_but(0, &n);
        double worst = 0;
        for (int i = 0; i < 200; i++) {
            double start = now();
            pmix_status_t rc = fence_with(listeners, n, 0, 60);
            if (rc != PMIX_SUCCESS)
                fail("fence %d of 200, %u events have come: %s", i, from[0].count[0], status_name(rc));
            double took = now() - start;
            worst = took > worst ? took : worst;
        }
        wait_until(storm_over, "the end of the storm");
        say("storm %u: the slowest fence took %.3f s", me.rank, worst);
        /* Those of the notifier's host have an event before its host may refuse it. */
        bool has_all = on_my_host(0) && from[0].count[0] == storm_size;
        if ((from[0].count[0] != taken && !has_all) || (!ballast && taken != storm_size))
            fail("%u of %u events came", from[0].count[0], taken);
    }
    long peak = daemon_peak();
    say("peak %u: %ld KiB", me.rank, peak);
    if (!peak || peak > 300 * 1024)
        fail("a daemon had %ld KiB", peak);
    fence();
}

static void hoard(void) {
    pmix_status_t code = LAST;
    bool beside = me.rank != 0 && on_my_host(0);
    fence();
    if (me.rank == 0) {
        notify(LAST, 0, PMIX_RANGE_NAMESPACE, NULL, 0, true);
        ballast = 1024 * 1024;
        for (int i = 0; i < 300;) {
            refused = 0;
            notify(EVENT, 0, PMIX_RANGE_NAMESPACE, NULL, 0, true);
            if (refused && refused != PMIX_ERR_OUT_OF_RESOURCE)
                fail("an event was answered with %s", status_name(refused));
            i += !refused;
            if (refused)
                usleep(10 * 1000); /* there is room soon */
        }
    }
    fence();
    if (me.rank != 0) {
        register_for(&code, 1, on_event);
        wait_for_count(&ends, 1, "a small event from before the registration");
    }
    fence();
    long peak = daemon_peak();
    say("peak %u: %ld KiB", me.rank, peak);
    if (!peak || (me.rank != 0 && !beside && peak > 200 * 1024))
        fail("a daemon had %ld KiB", peak);
}

static void dies(const char *how) {
    bool silent = !strcmp(how, "leave"), finalized = silent || !strcmp(how, "late");
    uint32_t dier = me.size - 1;
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_EXIT_NONZERO_TERM, LAST};
    if (me.rank == dier)
        show_life();
    register_for(NULL, 0, on_any);
    register_for(codes, 2, on_report);
    register_for(&codes[2], 1, on_event);
    fence();
    if (me.rank == dier) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (finalized)
            must(PMIx_Finalize(NULL, 0));
        if (silent)
            exit(0);
        if (!strcmp(how, "kill"))
            kill(getpid(), SIGKILL);
        _exit(!strcmp(how, "quit") ? 0 : 3);
    }
    wait_for_death();
    double start = now();
    if (!silent) {
        wait_for_count(&ends, 1, "the report of a process that has ended");
        double took = now() - start;
        int code = finalized ? PMIX_ERR_EXIT_NONZERO_TERM : PMIX_ERR_PROC_ABORTED;
        int exit_code = !strcmp(how, "kill") ? 128 + SIGKILL : !strcmp(how, "quit") ? 0 : 3;
        if (report.code != code || report.rank != dier)
            fail("%s of rank %u was reported", status_name(report.code), report.rank);
        if (report.exit_code != exit_code || !report.term_status)
            fail("the exit code was said to be %d, the status %s", report.exit_code, status_name(report.term_status));
        if (!report.host[0] || !report.stamped)
            fail("no host or no time was said");
        if (report.ends[0])
            fail("'%s' is to be ended, was said", report.ends);
        say("report %u: %.1f ms", me.rank, took * 1000);
    }
    /* Those who are left are still a job. A report that came twice would have come before. */
    size_t left;
    pmix_proc_t *those = all_but(dier, &left);
    must(fence_with(those, left, 0, 30));
    if (wrong[0] || ends != !silent)
        fail("%s, %u reports", wrong[0] ? wrong : "wrong number", ends);
}

static void condemned(void) {
    pmix_status_t code = PMIX_ERR_PROC_ABORTED;
    uint32_t dier = me.size - 1;
    signal(SIGTERM, SIG_IGN);
    register_for(&code, 1, on_report);
    fence();
    if (me.rank == dier)
        _exit(3);
    wait_for_count(&ends, 1, "the report of a process that has ended");
    if (report.rank != dier || strcmp(report.ends, "job"))
        fail("of rank %u was told that '%s' is to be ended", report.rank, report.ends);
}

/* `kills`: those that are there end their server, whose children they are on the local backend. */
static void down(const char *host, bool kills) {
    pmix_status_t code = PMIX_EVENT_NODE_DOWN;
    register_for(NULL, 0, on_any);
    register_for(&code, 1, on_report);
    bool doomed = is_on_host(me.rank, host);
    if (doomed && kills)
        fence_with(NULL, 0, 0,
                   0); /* another one may have ended their server before this one hears that all are there */
    else
        fence();
    say("there %u", me.rank);
    if (doomed && kills)
        kill(getppid(), SIGKILL);
    while (doomed)
        pause();
    wait_for_count(&ends, 1, "the report of a lost host");
    say("heard %u at %.3f", me.rank, now());
    if (strcmp(report.host, host) || !report.stamped || report.nprocs == 0)
        fail("host '%s' with %zu processes was reported", report.host, report.nprocs);
    if (strcmp(report.ends, "node"))
        fail("'%s' is to be ended, was said", report.ends);
    pmix_proc_t *those = calloc(me.size, sizeof(*those));
    size_t left = 0;
    for (uint32_t p = 0; p < me.size; p++) {
        bool gone = false;
        for (size_t i = 0; i < report.nprocs && i < MAX_RANKS; i++)
            gone = gone || report.procs[i].rank == p;
        if (!gone)
            those[left++] = process(me.proc.nspace, p);
    }
    if (left + report.nprocs != me.size)
        fail("%zu of %u processes are left", left, me.size);
    must(fence_with(those, left, 0, 30));
    if (ends != 1)
        fail("%u hosts were reported", ends);
    say("ok %u", me.rank);
    _exit(0); /* PMIx_Finalize is none of what is tested */
}

static void lost(void) {
    pmix_status_t code = PMIX_EVENT_NODE_DOWN;
    register_for(NULL, 0, on_any);
    register_for(&code, 1, on_report);
    wait_for_count(&ends, 1, "the report of a lost host");
    if (is_on_host(me.rank, report.host) || !report.host[0] || !report.stamped || report.nprocs == 0)
        fail("host '%s' with %zu processes was reported", report.host, report.nprocs);
    if (strcmp(report.ends, "job"))
        fail("'%s' is to be ended, was said", report.ends);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "ranges";
    begin(!strcmp(what, "down") ? 280 : 140);
    need(2);
    if (me.size > MAX_RANKS)
        fail("at most %d ranks", MAX_RANKS);
    answer_init(&acks);
    if (!strcmp(what, "ranges"))
        ranges();
    else if (!strcmp(what, "late"))
        late();
    else if (!strcmp(what, "hoard"))
        hoard();
    else if (!strcmp(what, "storm")) {
        storm_size = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
        ballast = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
        storm();
    } else if (!strcmp(what, "dies"))
        dies(argc > 2 ? argv[2] : "kill");
    else if (!strcmp(what, "down") && argc > 2)
        down(argv[2], argc > 3 && !strcmp(argv[3], "kill"));
    else if (!strcmp(what, "condemned"))
        condemned();
    else if (!strcmp(what, "lost"))
        lost();
    else
        fail("usage: there is no '%s'", what);
    pass();
}
