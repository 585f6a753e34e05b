/* A PMIx tool: finds a server on this host, asks it for things, and prints what it gets.
 * usage: tool [WHERE ...] [WHAT ...]
 * WHERE  nspace NS | pid PID | uri URI | attach FILE   the server; without any, libpmix searches
 *        system yes                                    the system's server (PMIX_CONNECT_TO_SYSTEM)
 *        name NS RANK                                  what the tool is called
 *        claim NS RANK                                 the same under the keys by which a server is told of it
 * WHAT   who              "tool NS RANK"
 *        namespaces       "namespace NS" for each
 *        two              namespaces and a key that nobody knows, in one question
 *        table NS         "process RANK HOST PID" for each, by rank
 *        notify CODE NS   an event for all processes of NS; "end" is PMIX_EVENT_JOB_END
 *        doom CODE NS     likewise, and it says that the job is about to be ended
 *        forge NS         says in its own name that the output of NS fails (PMIX_ERR_IOF_FAILURE)
 *        global CODE      an event of global range
 *        signal NUMBER NS
 *        abort [NS]       PMIx_Abort of nobody in particular, or of rank 1 of NS
 *        publish KEY UNTIL    the text "a tool's": UNTIL is process, application, session or read
 *        unpublish KEY
 *        find KEY         "found TEXT of NS RANK"
 *        spawn PROGRAM    one process: "spawned NS"
 *        get KEY NS       of no rank in particular
 *        log TEXT         to standard error
 *        credential       one of the job's user
 *        longer SECONDS   asks for more time of the allocation
 *        push NS          a line for the standard input of all processes of NS, and waits until it is taken
 *        hear aborted, hear terminated, hear lost (the connection with the server)
 *                         "listens", then waits for one such event: "heard STATUS of NS RANK"
 *        hold FILE        "held", and then waits until FILE exists
 * Each WHAT ends with "WHAT: STATUS"; so does "init" when the tool does not connect, and "finalize". */
#include "events.h"

#include <pmix_tool.h>

static int compare_ranks(const void *a, const void *b) {
    pmix_rank_t first = ((const pmix_proc_info_t *)a)->proc.rank, second = ((const pmix_proc_info_t *)b)->proc.rank;
    return first < second ? -1 : first > second;
}

static void print_table(pmix_data_array_t *array) {
    pmix_proc_info_t *procs = array->array;
    qsort(procs, array->size, sizeof *procs, compare_ranks);
    for (size_t i = 0; i < array->size; i++)
        say("process %u %s %d", procs[i].proc.rank, procs[i].hostname, (int)procs[i].pid);
}

static void print_namespaces(const char *list) {
    char *copy = strdup(list), *rest = copy;
    for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ","))
        say("namespace %s", one);
    free(copy);
}

static pmix_status_t query(const char *key, const char *second, const char *nspace) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t rc;
    PMIX_ARGV_APPEND(rc, query.keys, key);
    if (rc == PMIX_SUCCESS && second)
        PMIX_ARGV_APPEND(rc, query.keys, second);
    if (rc == PMIX_SUCCESS && nspace) {
        PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
        PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    }
    pmix_info_t *results = NULL;
    size_t count = 0;
    rc = PMIx_Query_info(&query, 1, &results, &count);
    if (rc == PMIX_ERR_PARTIAL_SUCCESS && PMIX_VERSION_MAJOR >= 5 && count != 1) /* older libraries drop them */
        fail("%zu answers of two keys", count);
    for (size_t i = 0; i < count; i++) {
        pmix_value_t *value = &results[i].value;
        if (value->type == PMIX_DATA_ARRAY && value->data.darray && value->data.darray->type == PMIX_PROC_INFO)
            print_table(value->data.darray);
        else if (value->type == PMIX_STRING)
            print_namespaces(value->data.string);
    }
    if (results)
        PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
    return rc;
}

static pmix_status_t notify(pmix_status_t code, const char *nspace, bool dooms) {
    pmix_info_t info[3];
    size_t n = 1;
    bool yes = true;
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    if (nspace) {
        pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
        PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &all, PMIX_PROC);
        n = 2;
    }
    if (dooms)
        PMIX_INFO_LOAD(&info[n++], PMIX_EVENT_TERMINATE_JOB, &yes, PMIX_BOOL);
    return PMIx_Notify_event(code, &me.proc, nspace ? PMIX_RANGE_CUSTOM : PMIX_RANGE_GLOBAL, info, n, NULL, NULL);
}

static pmix_status_t forge_failure(const char *nspace) {
    pmix_info_t info[2];
    bool yes = true;
    pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_AFFECTED_PROC, &all, PMIX_PROC);
    PMIX_INFO_LOAD(&info[1], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    return PMIx_Notify_event(PMIX_ERR_IOF_FAILURE, &me.proc, PMIX_RANGE_LOCAL, info, 2, NULL, NULL);
}

static pmix_status_t code_of(const char *word) {
    return !strcmp(word, "end") ? PMIX_EVENT_JOB_END : atoi(word);
}

static pmix_status_t send_signal(int number, const char *nspace) {
    pmix_info_t info;
    pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    return PMIx_Job_control(&all, 1, &info, 1, NULL, NULL);
}

static pmix_status_t publish(const char *key, const char *until) {
    pmix_info_t info[2];
    pmix_persistence_t persistence = !strcmp(until, "process")       ? PMIX_PERSIST_PROC
                                     : !strcmp(until, "application") ? PMIX_PERSIST_APP
                                     : !strcmp(until, "read")        ? PMIX_PERSIST_FIRST_READ
                                                                     : PMIX_PERSIST_SESSION;
    PMIX_INFO_LOAD(&info[0], key, "a tool's", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
    return PMIx_Publish(info, 2);
}

static pmix_status_t unpublish(char *key) {
    char *keys[] = {key, NULL};
    return PMIx_Unpublish(keys, NULL, 0);
}

static pmix_status_t find(const char *key) {
    pmix_pdata_t data;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    pmix_status_t rc = PMIx_Lookup(&data, 1, NULL, 0);
    if (rc == PMIX_SUCCESS)
        say("found %s of %s %u", data.value.type == PMIX_STRING ? data.value.data.string : "no text", data.proc.nspace,
            data.proc.rank);
    return rc;
}

static pmix_status_t spawn(char *program) {
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    char *argv[] = {program, NULL};
    app.cmd = program;
    app.argv = argv;
    app.maxprocs = 1;
    pmix_nspace_t nspace = "";
    pmix_status_t rc = PMIx_Spawn(NULL, 0, &app, 1, nspace);
    if (rc == PMIX_SUCCESS)
        say("spawned %s", nspace);
    return rc;
}

static pmix_status_t get_of(const char *key, const char *nspace) {
    pmix_proc_t any = process(nspace, PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    pmix_status_t rc = PMIx_Get(&any, key, NULL, 0, &value);
    if (rc == PMIX_SUCCESS)
        PMIX_VALUE_RELEASE(value);
    return rc;
}

static pmix_status_t write_log(const char *text) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_LOG_STDERR, text, PMIX_STRING);
    return PMIx_Log(&info, 1, NULL, 0);
}

static pmix_status_t ask_for_time(uint32_t seconds) {
    pmix_info_t info, *results = NULL;
    size_t count = 0;
    PMIX_INFO_LOAD(&info, PMIX_ALLOC_TIME, &seconds, PMIX_UINT32);
    return PMIx_Allocation_request(PMIX_ALLOC_EXTEND, &info, 1, &results, &count);
}

static pmix_status_t push(const char *nspace) {
    pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
    char line[] = "a tool's\n";
    pmix_byte_object_t bytes = {line, strlen(line)};
    return PMIx_IOF_push(&all, 1, &bytes, NULL, 0, NULL, NULL);
}

static struct {
    unsigned times;
    pmix_status_t code;
    pmix_proc_t of;
} heard;

static void note(const struct event *event) {
    const pmix_value_t *affected = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC);
    heard.code = event->code;
    heard.of = affected ? *affected->data.proc : *event->source;
    heard.times++;
}
EVENT_HANDLER(on_event, note, PMIX_EVENT_ACTION_COMPLETE)

static void hear(pmix_status_t code) {
    unsigned before = heard.times;
    register_nb(&code, 1, on_event);
    say("listens");
    wait_for_count(&heard.times, before + 1, "an event");
    say("heard %s of %s %u", status_name(heard.code), heard.of.nspace, heard.of.rank);
}

static void did(const char *what, pmix_status_t rc) {
    say("%s: %s", what, status_name(rc));
}

int main(int argc, char **argv) {
    pmix_info_t info[8];
    size_t n = 0;
    watch(100);
    char **word = argv + (argc > 0);
    for (; word[0] && word[1]; word += 2) {
        const char *key = !strcmp(word[0], "nspace")   ? PMIX_SERVER_NSPACE
                          : !strcmp(word[0], "uri")    ? PMIX_SERVER_URI
                          : !strcmp(word[0], "attach") ? PMIX_TOOL_ATTACHMENT_FILE
                                                       : NULL;
        pid_t pid = atoi(word[1]);
        bool yes = true;
        if (!strcmp(word[0], "system"))
            PMIX_INFO_LOAD(&info[n], PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL);
        else if (key)
            PMIX_INFO_LOAD(&info[n], key, word[1], PMIX_STRING);
        else if (!strcmp(word[0], "pid"))
            PMIX_INFO_LOAD(&info[n], PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
        else if ((!strcmp(word[0], "name") || !strcmp(word[0], "claim")) && word[2]) {
            bool claim = !strcmp(word[0], "claim");
            pmix_rank_t rank = (pmix_rank_t)atoi(word[2]);
            PMIX_INFO_LOAD(&info[n], claim ? PMIX_NSPACE : PMIX_TOOL_NSPACE, word[1], PMIX_STRING);
            n++;
            PMIX_INFO_LOAD(&info[n], claim ? PMIX_RANK : PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
            word++;
        } else
            break;
        if (++n > 6)
            break;
    }
    me.doing = "PMIx_tool_init";
    pmix_status_t rc = PMIx_tool_init(&me.proc, n ? info : NULL, n);
    if (rc != PMIX_SUCCESS) {
        did("init", rc);
        return 1;
    }
    for (; *word; word++) {
        const char *what = me.doing = *word;
        if (!strcmp(what, "who")) {
            say("tool %s %u", me.proc.nspace, me.proc.rank);
        } else if (!strcmp(what, "namespaces")) {
            did(what, query(PMIX_QUERY_NAMESPACES, NULL, NULL));
        } else if (!strcmp(what, "two")) {
            did(what, query(PMIX_QUERY_NAMESPACES, "nobody.knows", NULL));
        } else if (!strcmp(what, "table") && word[1]) {
            did(what, query(PMIX_QUERY_PROC_TABLE, NULL, *++word));
        } else if ((!strcmp(what, "notify") || !strcmp(what, "doom")) && word[1] && word[2]) {
            word += 2;
            did(what, notify(code_of(word[-1]), *word, !strcmp(what, "doom")));
        } else if (!strcmp(what, "forge") && word[1]) {
            did(what, forge_failure(*++word));
        } else if (!strcmp(what, "global") && word[1]) {
            did(what, notify(code_of(*++word), NULL, false));
        } else if (!strcmp(what, "signal") && word[1] && word[2]) {
            word += 2;
            did(what, send_signal(atoi(word[-1]), *word));
        } else if (!strcmp(what, "abort")) {
            pmix_proc_t second = process(word[1] ? word[1] : "", 1);
            did(what, PMIx_Abort(1, "a tool's", word[1] ? &second : NULL, word[1] ? 1 : 0));
            word += word[1] ? 1 : 0;
        } else if (!strcmp(what, "publish") && word[1] && word[2]) {
            word += 2;
            did(what, publish(word[-1], *word));
        } else if (!strcmp(what, "unpublish") && word[1]) {
            did(what, unpublish(*++word));
        } else if (!strcmp(what, "find") && word[1]) {
            did(what, find(*++word));
        } else if (!strcmp(what, "spawn") && word[1]) {
            did(what, spawn(*++word));
        } else if (!strcmp(what, "get") && word[1] && word[2]) {
            word += 2;
            did(what, get_of(word[-1], *word));
        } else if (!strcmp(what, "credential")) {
            pmix_byte_object_t credential;
            PMIX_BYTE_OBJECT_CONSTRUCT(&credential);
            did(what, PMIx_Get_credential(NULL, 0, &credential));
            PMIX_BYTE_OBJECT_DESTRUCT(&credential);
        } else if (!strcmp(what, "log") && word[1]) {
            did(what, write_log(*++word));
        } else if (!strcmp(what, "longer") && word[1]) {
            did(what, ask_for_time((uint32_t)atoi(*++word)));
        } else if (!strcmp(what, "push") && word[1]) {
            did(what, push(*++word));
        } else if (!strcmp(what, "hear") && word[1]) {
            word++;
            hear(!strcmp(*word, "aborted") ? PMIX_ERR_PROC_ABORTED
                 : !strcmp(*word, "lost")  ? PMIX_ERR_LOST_CONNECTION
                                           : PMIX_EVENT_PROC_TERMINATED);
        } else if (!strcmp(what, "hold") && word[1]) {
            say("held");
            await_file(*++word);
        } else {
            fail("there is no '%s', or not like this", what);
        }
    }
    me.doing = "PMIx_tool_finalize";
    did("finalize", PMIx_tool_finalize());
    return 0;
}
