/* The other job, for the test clients that need one: how two jobs find each other, by what they publish
 * or by files, how a job spawns its own program, how they connect, and what one reads of the other.
 */
#ifndef TEST_E2E_PEERS_H
#define TEST_E2E_PEERS_H

#include "client.h"

struct job {
    char nspace[PMIX_MAX_NSLEN + 1];
    uint32_t size;
};

/* --- by what is published ------------------------------------------------------------------------*/

/* `as_long_as` PMIX_PERSIST_INVALID: as long as the host thinks fit. */
static inline void publish_text(const char *key, const char *text, pmix_persistence_t as_long_as) {
    pmix_info_t info[2];
    size_t n = as_long_as == PMIX_PERSIST_INVALID ? 1 : 2;
    PMIX_INFO_LOAD(&info[0], key, text, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &as_long_as, PMIX_PERSIST);
    must(PMIx_Publish(info, n));
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

/* Waits until it is published, `seconds` 0: without PMIX_TIMEOUT. The text is the caller's. */
static inline char *look_up_text(const char *key, int seconds) {
    pmix_pdata_t data;
    pmix_info_t info[2];
    int all = 0;
    size_t n = seconds ? 2 : 1;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    must(PMIx_Lookup(&data, 1, info, n));
    if (data.value.type != PMIX_STRING)
        fail("%s has type %d", key, data.value.type);
    char *text = strdup(data.value.data.string);
    PMIX_PDATA_DESTRUCT(&data);
    return text;
}

/* Announces this job as the one that is called KEY.NAME; one of its processes calls it. */
static inline void announce(const char *key, const char *name, pmix_persistence_t as_long_as) {
    char whole[64], text[PMIX_MAX_NSLEN + 32];
    snprintf(whole, sizeof(whole), "%s.%s", key, name);
    snprintf(text, sizeof(text), "%s %u", me.proc.nspace, me.size);
    publish_text(whole, text, as_long_as);
}

/* The job that is called KEY.NAME, or will be so within 40 s. */
static inline struct job find_job(const char *key, const char *name) {
    struct job job;
    char whole[64];
    snprintf(whole, sizeof(whole), "%s.%s", key, name);
    char *text = look_up_text(whole, 40);
    if (sscanf(text, "%255s %u", job.nspace, &job.size) != 2)
        fail("what is '%s'?", text);
    free(text);
    return job;
}

/* All processes of two jobs call it, each with its own name first. */
static inline struct job meet(const char *key, const char *own, const char *its, pmix_persistence_t as_long_as) {
    if (me.rank == 0)
        announce(key, own, as_long_as);
    return find_job(key, its);
}

/* --- by files in $CLIENT_DIR, which all hosts see -------------------------------------------------*/

/* NAME.RANK, the same buffer each time. */
static inline const char *path_of(const char *name, uint32_t rank) {
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s.%u", getenv("CLIENT_DIR") ? getenv("CLIENT_DIR") : ".", name, rank);
    return path;
}

/* Makes a file NAME.RANK with the namespace in it, in one step: whoever sees it finds its content. */
static inline void tell_by_file(const char *name, uint32_t rank) {
    char part[4200];
    snprintf(part, sizeof(part), "%s.part", path_of(name, rank));
    FILE *file = fopen(part, "w");
    if (!file || fputs(me.proc.nspace, file) < 0 || fclose(file) || rename(part, path_of(name, rank)))
        fail("%s: %s", part, strerror(errno));
}

/* `nspace` NULL: it is enough that the file is there. */
static inline void wait_to_be_told(const char *name, uint32_t rank, char *nspace) {
    await_file(path_of(name, rank));
    FILE *file = fopen(path_of(name, rank), "r");
    if (nspace && (!file || !fgets(nspace, PMIX_MAX_NSLEN, file)))
        fail("%s: %s", path_of(name, rank), strerror(errno));
    if (file)
        fclose(file);
}

/* --- children -------------------------------------------------------------------------------------*/

/* Where this program is. */
static inline char *own_program(void) {
    static char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = 0;
    return self;
}

/* Spawns processes of this program. argv[0] is filled in; `nspace` is the child's. */
static inline void spawn_self(char **argv, uint32_t count, const pmix_info_t *info, size_t ninfo,
                              pmix_nspace_t nspace) {
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    argv[0] = own_program();
    app.cmd = argv[0];
    app.argv = argv;
    app.maxprocs = (int)count;
    must(PMIx_Spawn(info, ninfo, &app, 1, nspace));
}

/* --- connected --------------------------------------------------------------------------------------*/

/* All of this job and all of the other. */
static inline void both_jobs(pmix_proc_t procs[2], const char *other) {
    procs[0] = process(me.proc.nspace, PMIX_RANK_WILDCARD);
    procs[1] = process(other, PMIX_RANK_WILDCARD);
}

static inline void connect_with(const char *other) {
    pmix_proc_t procs[2];
    both_jobs(procs, other);
    must(PMIx_Connect(procs, 2, NULL, 0));
}

static inline void disconnect_from(const char *other) {
    pmix_proc_t procs[2];
    both_jobs(procs, other);
    must(PMIx_Disconnect(procs, 2, NULL, 0));
}

static inline void check_size(const struct job *job) {
    pmix_value_t *v;
    pmix_proc_t whole = process(job->nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&whole, PMIX_JOB_SIZE, NULL, 0, &v));
    if (v->data.uint32 != job->size)
        fail("PMIX_JOB_SIZE of %s is %u, not %u", job->nspace, v->data.uint32, job->size);
    PMIX_VALUE_RELEASE(v);
}

/* What a process posts of itself, for others to read. */
static inline void put_card(void) {
    char text[PMIX_MAX_NSLEN + 32];
    snprintf(text, sizeof(text), "%s %u", me.proc.nspace, me.rank);
    pmix_value_t card = {.type = PMIX_STRING, .data.string = text};
    must(PMIx_Put(PMIX_GLOBAL, "card", &card));
    must(PMIx_Commit());
}

/* `at_once`: it must be on this host already, so that no other one has to be asked. (With PMIX_OPTIONAL a client whose
 * store is its own memory alone, as with gds=hash, would not even ask its server.) */
static inline void check_card(const char *nspace, uint32_t rank, bool at_once) {
    char wanted[PMIX_MAX_NSLEN + 32];
    pmix_info_t now_or_never;
    pmix_proc_t proc = process(nspace, rank);
    pmix_value_t *v;
    PMIX_INFO_LOAD(&now_or_never, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    me.doing = "PMIx_Get card";
    pmix_status_t rc = PMIx_Get(&proc, "card", at_once ? &now_or_never : NULL, at_once ? 1 : 0, &v);
    if (rc != PMIX_SUCCESS)
        fail("the card of %s.%u: %s", nspace, rank, status_name(rc));
    snprintf(wanted, sizeof(wanted), "%s %u", nspace, rank);
    if (v->type != PMIX_STRING || strcmp(v->data.string, wanted) != 0)
        fail("the card of %s.%u says something else", nspace, rank);
    PMIX_VALUE_RELEASE(v);
}

#endif
