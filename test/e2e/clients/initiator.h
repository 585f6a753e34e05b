/* What debuggers do that start a launcher by PMIx_Spawn: with the program of its job (indirect.c) or without
 * (initiator.c). Only pmix.h is known. */
#ifndef TEST_E2E_INITIATOR_H
#define TEST_E2E_INITIATOR_H

#include "events.h"

#include <pmix_tool.h>

static inline void add(void *list, const char *key, const void *value, pmix_data_type_t type) {
    pmix_status_t rc;
    PMIX_INFO_LIST_ADD(rc, list, key, value, type);
    if (rc != PMIX_SUCCESS)
        fail("%s: %s", key, status_name(rc));
}

/* `launch`: a list, directives for its job, or NULL; `nohup`: it has no keep-alive pipe (PMIX_NOHUP); `output`: what it
 * prints is printed. */
static inline pmix_proc_t start_launcher(char **words, void *launch, bool nohup, bool output) {
    pmix_status_t rc;
    pmix_value_t *uri;
    pmix_app_t app;
    void *job;
    pmix_data_array_t of_job, of_launch;
    pmix_nspace_t nspace;
    char cwd[1024];
#ifdef PMIX_MYSERVER_URI
    must(PMIx_Get(&me.proc, PMIX_MYSERVER_URI, NULL, 0, &uri));
#else
    must(PMIx_Get(&me.proc, PMIX_SERVER_URI, NULL, 0, &uri));
#endif
    PMIX_APP_CONSTRUCT(&app);
    /* the library has all of it for its own */
    app.cmd = strdup(words[0]);
    for (rc = PMIX_SUCCESS; *words && rc == PMIX_SUCCESS; words++)
        PMIX_ARGV_APPEND(rc, app.argv, *words);
    app.cwd = getcwd(cwd, sizeof cwd) ? strdup(cwd) : NULL;
    app.maxprocs = 1;
    PMIX_SETENV(rc, "PMIX_LAUNCHER_RNDZ_URI", uri->data.string, &app.env);
    if (rc != PMIX_SUCCESS)
        fail("PMIX_SETENV: %s", status_name(rc));
    PMIX_INFO_LIST_START(job);
    add(job, PMIX_SPAWN_TOOL, NULL, PMIX_BOOL);
    if (nohup)
        add(job, PMIX_NOHUP, NULL, PMIX_BOOL);
    if (launch) {
        PMIX_INFO_LIST_CONVERT(rc, launch, &of_launch);
        add(job, PMIX_LAUNCH_DIRECTIVES, &of_launch, PMIX_DATA_ARRAY);
    }
    add(job, PMIX_FWD_STDOUT, &output, PMIX_BOOL);
    add(job, PMIX_FWD_STDERR, NULL, PMIX_BOOL);
    PMIX_INFO_LIST_CONVERT(rc, job, &of_job);
    me.doing = "PMIx_Spawn of the launcher";
    must(PMIx_Spawn(of_job.array, of_job.size, &app, 1, nspace));
    return process(nspace, 0);
}

static inline void connect_to(const pmix_proc_t *launcher) {
    pmix_info_t info[2];
    bool yes = true;
    int seconds = 30;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    me.doing = "PMIx_tool_set_server";
    must(PMIx_tool_set_server(launcher, info, 2));
}

static inline void release(const pmix_proc_t *whom) {
    pmix_info_t info[2];
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, whom, PMIX_PROC);
    pmix_status_t rc = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me.proc, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        fail("the release: %s", status_name(rc));
}

/* To the input of a launcher, or of a job, and its end. */
static inline void push(const char *nspace, const char *words) {
    struct answer pushed;
    char text[1024];
    pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
    pmix_byte_object_t bytes = {text, (size_t)snprintf(text, sizeof text, "%s\n", words)};
    pmix_info_t end;
    bool yes = true;
    PMIX_INFO_LOAD(&end, PMIX_IOF_COMPLETE, &yes, PMIX_BOOL);
    for (int i = 0; i < 2; i++) { /* the words, and the end */
        answer_init(&pushed);
        pmix_status_t rc = PMIx_IOF_push(&all, 1, &bytes, i ? &end : NULL, i ? 1 : 0, answer_op, &pushed);
        bytes.size = 0;
        if (rc == PMIX_SUCCESS)
            rc = answer_wait(&pushed, "PMIx_IOF_push");
        if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
            fail("PMIx_IOF_push: %s", status_name(rc));
    }
}

static inline pmix_status_t query(const char *nspace, pmix_info_t **results, size_t *count) {
    pmix_query_t query;
    pmix_status_t rc;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_PROC_TABLE);
    if (rc != PMIX_SUCCESS)
        return rc;
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    me.doing = "PMIX_QUERY_PROC_TABLE";
    return PMIx_Query_info(&query, 1, results, count);
}

/* `all`: each process is there. */
static inline void print_table(const char *nspace, bool all) {
    pmix_info_t *results = NULL;
    size_t count = 0, hosts = 0;
    must(query(nspace, &results, &count));
    if (count != 1 || results[0].value.type != PMIX_DATA_ARRAY || results[0].value.data.darray->type != PMIX_PROC_INFO)
        fail("the table is none");
    const pmix_data_array_t *table = results[0].value.data.darray;
    const pmix_proc_info_t *procs = table->array;
    for (size_t i = 0; i < table->size; i++) {
        size_t same = 0;
        while (strcmp(procs[same].hostname, procs[i].hostname))
            same++;
        hosts += same == i;
        if (procs[i].pid <= 0 && all) /* else the others have ended */
            fail("rank %u has no process in the table", procs[i].proc.rank);
    }
    say("table %zu processes on %zu hosts", table->size, hosts);
}

#endif
