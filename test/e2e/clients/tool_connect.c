/* A PMIx tool that does nothing but connect: every attribute of the standard's chapter on the connection of tools, and
 * the calls that attach to more servers and change between them.
 * usage: tool_connect WHAT [KEY=VALUE ...] [WHAT ...]
 * WHAT  init                PMIx_tool_init: "init: STATUS NS RANK, MILLISECONDS ms", what the tool is called then
 *       attach              PMIx_tool_attach_to_server: "attach: STATUS NS RANK, MILLISECONDS ms", of the server
 *       set NS RANK         PMIx_tool_set_server: "set: STATUS, MILLISECONDS ms"
 *       disconnect NS RANK  PMIx_tool_disconnect: "disconnect: STATUS"
 *       servers             PMIx_tool_get_servers: "server NS RANK" for each, the primary one first, "servers: STATUS"
 *       connections         "connections N", of this process to servers
 *       finalize            PMIx_tool_finalize: "finalize: STATUS"
 *       namespaces          asked of the primary server: "namespace NS" for each, "namespaces: STATUS"
 *       later FILE NAME     starts a thread that links FILE to NAME when half a second is over
 *       join NS             starts a thread that attaches to the server NS when half a second is over
 *       look FILE           "there" or "missing"
 *       within SECONDS      from now on it waits for nothing longer than that
 * KEY   is in the table below; those of words are 1 or 0.
 * At last it finalizes, if it has not yet. Without `within` it waits for nothing longer than 30 seconds. */
#include "client.h"

#include <netinet/in.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <sys/socket.h>

static const struct {
    const char *word, *key;
    pmix_data_type_t type;
} keys[] = {
    {"name", PMIX_TOOL_NSPACE, PMIX_STRING},
    {"rank", PMIX_TOOL_RANK, PMIX_PROC_RANK},
    {"nspace", PMIX_SERVER_NSPACE, PMIX_STRING},
    {"pid", PMIX_SERVER_PIDINFO, PMIX_PID},
    {"uri", PMIX_SERVER_URI, PMIX_STRING},
    {"tcp", PMIX_TCP_URI, PMIX_STRING},
    {"attach", PMIX_TOOL_ATTACHMENT_FILE, PMIX_STRING},
    {"file", PMIX_LAUNCHER_RENDEZVOUS_FILE, PMIX_STRING},
    {"system", PMIX_CONNECT_TO_SYSTEM, PMIX_BOOL},
    {"first", PMIX_CONNECT_SYSTEM_FIRST, PMIX_BOOL},
    {"unconnected", PMIX_TOOL_DO_NOT_CONNECT, PMIX_BOOL},
    {"optional", PMIX_TOOL_CONNECT_OPTIONAL, PMIX_BOOL},
    {"launcher", PMIX_LAUNCHER, PMIX_BOOL},
    {"primary", PMIX_PRIMARY_SERVER, PMIX_BOOL},
    {"wait", PMIX_WAIT_FOR_CONNECTION, PMIX_BOOL},
    {"retries", PMIX_CONNECT_MAX_RETRIES, PMIX_UINT32},
    {"delay", PMIX_CONNECT_RETRY_DELAY, PMIX_UINT32},
    {"timeout", PMIX_TIMEOUT, PMIX_INT},
};
enum { max_info = 8 };

static bool load(pmix_info_t *info, const char *word) {
    const char *value = strchr(word, '=');
    for (size_t i = 0; value && i < sizeof keys / sizeof *keys; i++) {
        if (strncmp(word, keys[i].word, (size_t)(value - word)) || keys[i].word[value - word])
            continue;
        int number = atoi(value + 1);
        bool yes = number != 0;
        uint32_t natural = (uint32_t)number;
        pid_t pid = number;
        const void *data = keys[i].type == PMIX_STRING ? (const void *)(value + 1)
                           : keys[i].type == PMIX_BOOL ? (const void *)&yes
                           : keys[i].type == PMIX_INT  ? (const void *)&number
                           : keys[i].type == PMIX_PID  ? (const void *)&pid
                                                       : (const void *)&natural;
        PMIX_INFO_LOAD(info, keys[i].key, data, keys[i].type);
        return true;
    }
    return false;
}

static double began;
static int took(void) {
    return (int)((now() - began) * 1e3);
}

static void servers(void) {
    pmix_proc_t *list = NULL;
    size_t count = 0;
    pmix_status_t rc = PMIx_tool_get_servers(&list, &count);
    for (size_t i = 0; rc == PMIX_SUCCESS && i < count; i++)
        say("server %s %u", list[i].nspace, list[i].rank);
    say("servers: %s", status_name(rc));
    if (list)
        PMIX_PROC_FREE(list, count);
}

static void connections(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        count += getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET;
    }
    say("connections %d", count);
}

static void namespaces(void) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    pmix_status_t rc;
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
    bool yes = true; /* what another server has answered is kept */
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
    pmix_info_t *results = NULL;
    size_t count = 0;
    rc = PMIx_Query_info(&query, 1, &results, &count);
    for (size_t i = 0; rc == PMIX_SUCCESS && i < count; i++) {
        if (results[i].value.type != PMIX_STRING)
            continue;
        char *copy = strdup(results[i].value.data.string), *rest = copy;
        for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ","))
            say("namespace %s", one);
        free(copy);
    }
    say("namespaces: %s", status_name(rc));
    if (results)
        PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
}

/* What comes half a second later is what the call in between waits for. */
static void half_a_second(void) {
    struct timespec half = {.tv_nsec = 500000000};
    nanosleep(&half, NULL);
}

static void *make_link(void *data) {
    char **names = data;
    half_a_second();
    if (link(names[0], names[1]) != 0)
        fail("link %s: %s", names[1], strerror(errno));
    return NULL;
}

static void *join(void *data) {
    char **names = data;
    half_a_second();
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_SERVER_NSPACE, names[0], PMIX_STRING);
    pmix_status_t rc = PMIx_tool_attach_to_server(NULL, NULL, &info, 1);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_tool_attach_to_server: %s", status_name(rc));
    return NULL;
}

static void start(void *(*what)(void *), char **names) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, what, names) != 0)
        fail("pthread_create");
    pthread_detach(thread);
}

static size_t names_of(const char *what) {
    static const char *const two[] = {"set", "disconnect", "later"}, *const one[] = {"join", "look", "within"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (!strcmp(what, two[i]))
            return 2;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (!strcmp(what, one[i]))
            return 1;
    return 0;
}

int main(int argc, char **argv) {
    bool initialized = false;
    watch(30);
    for (char **word = argv + (argc > 0); *word;) {
        const char *what = me.doing = *word++;
        char **names = word;
        for (size_t i = names_of(what); i > 0; i--)
            if (!*word++)
                fail("%s what?", what);
        pmix_info_t info[max_info];
        size_t n = 0;
        while (*word && strchr(*word, '=') && n < max_info) {
            if (!load(&info[n++], *word++))
                fail("there is no '%s'", word[-1]);
        }
        pmix_proc_t proc = process("", 0);
        if (!strcmp(what, "set") || !strcmp(what, "disconnect"))
            proc = process(names[0], (uint32_t)atoi(names[1]));
        began = now();
        if (!strcmp(what, "init")) {
            pmix_status_t rc = PMIx_tool_init(&me.proc, n ? info : NULL, n);
            initialized = rc == PMIX_SUCCESS;
            say("init: %s %s %u, %d ms", status_name(rc), me.proc.nspace, me.proc.rank, took());
            if (!initialized)
                return 1;
        } else if (!strcmp(what, "attach")) {
            pmix_status_t rc = PMIx_tool_attach_to_server(&me.proc, &proc, info, n);
            say("attach: %s %s %u, %d ms", status_name(rc), proc.nspace, proc.rank, took());
        } else if (!strcmp(what, "set")) {
            pmix_status_t rc = PMIx_tool_set_server(&proc, n ? info : NULL, n);
            say("set: %s, %d ms", status_name(rc), took());
        } else if (!strcmp(what, "disconnect")) {
            say("disconnect: %s", status_name(PMIx_tool_disconnect(&proc)));
        } else if (!strcmp(what, "finalize")) {
            say("finalize: %s", status_name(PMIx_tool_finalize()));
            initialized = false;
        } else if (!strcmp(what, "connections")) {
            connections();
        } else if (!strcmp(what, "servers")) {
            servers();
        } else if (!strcmp(what, "namespaces")) {
            namespaces();
        } else if (!strcmp(what, "later")) {
            start(make_link, names);
        } else if (!strcmp(what, "join")) {
            start(join, names);
        } else if (!strcmp(what, "look")) {
            say("%s", access(names[0], F_OK) == 0 ? "there" : "missing");
        } else if (!strcmp(what, "within")) {
            alarm((unsigned)atoi(names[0]));
        } else {
            fail("there is no '%s'", what);
        }
    }
    me.doing = "PMIx_tool_finalize";
    if (initialized)
        say("finalize: %s", status_name(PMIx_tool_finalize()));
    return 0;
}
