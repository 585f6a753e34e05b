/* PMIx_Spawn, from the parent's side and the child's.
 * usage: spawn [OPTION ...] [-- PROGRAM ARG ...] [-- PROGRAM ARG ...]
 *   count=N        processes of each program [1]
 *   rank=R         the rank that spawns [0]; all: every one
 *   times=T        how often, one after the other [1]
 *   status=N       what PMIx_Spawn is to return [0], or ERROR: any error, or ANY
 *   await=FILE     before each call after the first, wait until FILE is there
 *   connect=FILE   connect to the child's job, and make FILE when that has been asked for; before each
 *                  call FILE is removed. The connect must fail within 60 s
 *   pull           of what the children write each piece is printed: "pulled: STATUS", "heard TEXT"
 *   quit           do not wait for the other ranks
 *   keep           wait, afterwards, to be ended;  abort: end with PMIx_Abort(7) instead
 *   KEY=VALUE      a directive of the job: a key that begins with "pmix." or "my."; VALUE is a text,
 *                  #NUMBER, yes or no; KEY!=VALUE: a required one; app:KEY=VALUE: of each program;
 *                  last:KEY=VALUE: of the last one alone; again:KEY=VALUE: of each call after the first
 *   env=NAME=VALUE, cwd=DIR   of each program
 * Without a program the child is this one: spawn child [DEPTH].
 * A parent prints "spawned NSPACE" or "refused STATUS" for each call, with the seconds it took.
 * A child prints "child RANK of SIZE in NSPACE, parent PNSPACE PRANK, on HOST". */
#include "peers.h"

#include <pmix_tool.h>

static struct {
    pmix_app_t apps[8];
    size_t app_count;
    pmix_info_t info[32], app_info[8], last_info[8], again[8];
    size_t info_count, app_info_count, last_info_count, again_count;
    const char *env[32], *cwd, *await, *connect;
    size_t env_count;
    int count, times, wanted;
    long rank;
    bool any_error, any, pull, quit, keep, abort;
} ask = {.count = 1, .times = 1, .rank = 0};

static void child(int depth) {
    pmix_value_t *v = NULL;
    pmix_proc_t asked[2] = {me.proc, me.proc}, parent;
    asked[1].rank = PMIX_RANK_WILDCARD;
    for (int i = 0; i < 2; i++) {
        me.doing = "PMIX_SPAWNED";
        pmix_status_t rc = PMIx_Get(&asked[i], PMIX_SPAWNED, NULL, 0, &v);
        if (rc != PMIX_SUCCESS || v->type != PMIX_BOOL || !v->data.flag)
            fail("PMIX_SPAWNED: %s", status_name(rc));
        PMIX_VALUE_RELEASE(v);
        me.doing = "PMIX_PARENT_ID";
        rc = PMIx_Get(&asked[i], PMIX_PARENT_ID, NULL, 0, &v);
        if (rc != PMIX_SUCCESS || v->type != PMIX_PROC)
            fail("PMIX_PARENT_ID of %d: %s", i, status_name(rc));
        parent = *v->data.proc;
        PMIX_VALUE_RELEASE(v);
    }
    char host[256] = "?";
    if (PMIx_Get(&me.proc, PMIX_HOSTNAME, NULL, 0, &v) == PMIX_SUCCESS) {
        snprintf(host, sizeof host, "%s", v->data.string);
        PMIX_VALUE_RELEASE(v);
    }
    fence_collect();
    say("child %u of %u in %s, parent %s %u, on %s", me.rank, me.size, me.proc.nspace, parent.nspace, parent.rank,
        host);
    if (depth > 0 && me.rank == 0) {
        char deeper[16], word[] = "child", *argv[] = {NULL, word, deeper, NULL};
        pmix_nspace_t nspace;
        snprintf(deeper, sizeof deeper, "%d", depth - 1);
        spawn_self(argv, 2, NULL, 0, nspace);
    }
}

static void directive(char *word) {
    char *value = strchr(word, '=');
    bool required = value > word && value[-1] == '!', of_app = !strncmp(word, "app:", 4),
         of_last = !strncmp(word, "last:", 5), again = !strncmp(word, "again:", 6);
    pmix_info_t *info = of_app    ? &ask.app_info[ask.app_info_count++]
                        : of_last ? &ask.last_info[ask.last_info_count++]
                        : again   ? &ask.again[ask.again_count++]
                                  : &ask.info[ask.info_count++];
    word += of_app ? 4 : of_last ? 5 : again ? 6 : 0;
    value[required ? -1 : 0] = 0;
    ++value;
    bool yes = !strcmp(value, "yes");
    int number = atoi(value + 1);
    pmix_envar_t variable = {NULL, NULL, ':'};
    if (yes || !strcmp(value, "no")) {
        PMIX_INFO_LOAD(info, word, &yes, PMIX_BOOL);
    } else if (*value == '#') {
        PMIX_INFO_LOAD(info, word, &number, PMIX_INT);
    } else if (!strncmp(word, "pmix.envar.", 11) && strchr(value, '=')) {
        variable.envar = value;
        variable.value = strchr(value, '=') + 1;
        variable.value[-1] = 0;
        PMIX_INFO_LOAD(info, word, &variable, PMIX_ENVAR);
    } else {
        PMIX_INFO_LOAD(info, word, value, PMIX_STRING);
    }
    if (required)
        PMIX_INFO_REQUIRED(info);
}

static void append(char ***list, const char *text) {
    size_t n = 0;
    while (*list && (*list)[n])
        n++;
    *list = realloc(*list, (n + 2) * sizeof(char *));
    (*list)[n] = strdup(text);
    (*list)[n + 1] = NULL;
}

static void add_app(char **argv) {
    pmix_app_t *app = &ask.apps[ask.app_count++];
    PMIX_APP_CONSTRUCT(app);
    app->cmd = strdup(argv[0]);
    for (; *argv && strcmp(*argv, "--"); ++argv)
        append(&app->argv, *argv);
    app->maxprocs = ask.count;
    for (size_t i = 0; i < ask.env_count; ++i)
        append(&app->env, ask.env[i]);
    app->cwd = ask.cwd ? strdup(ask.cwd) : NULL;
    app->info = ask.app_info_count ? ask.app_info : NULL;
    app->ninfo = ask.app_info_count;
}

static void option(char *word) {
    if (!strncmp(word, "count=", 6))
        ask.count = atoi(word + 6);
    else if (!strcmp(word, "rank=all"))
        ask.rank = -1;
    else if (!strncmp(word, "rank=", 5))
        ask.rank = atoi(word + 5);
    else if (!strncmp(word, "times=", 6))
        ask.times = atoi(word + 6);
    else if (!strcmp(word, "status=ERROR"))
        ask.any_error = true;
    else if (!strcmp(word, "status=ANY"))
        ask.any = true;
    else if (!strncmp(word, "await=", 6))
        ask.await = word + 6;
    else if (!strncmp(word, "status=", 7))
        ask.wanted = atoi(word + 7);
    else if (!strncmp(word, "connect=", 8))
        ask.connect = word + 8;
    else if (!strcmp(word, "pull"))
        ask.pull = true;
    else if (!strcmp(word, "quit"))
        ask.quit = true;
    else if (!strcmp(word, "keep"))
        ask.keep = true;
    else if (!strcmp(word, "abort"))
        ask.abort = true;
    else if (!strncmp(word, "env=", 4))
        ask.env[ask.env_count++] = word + 4;
    else if (!strncmp(word, "cwd=", 4))
        ask.cwd = word + 4;
    else if (strchr(word, '='))
        directive(word);
    else
        fail("'%s' is no option", word);
}

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *payload,
                      pmix_info_t info[], size_t ninfo) {
    (void)id, (void)channel, (void)source, (void)info, (void)ninfo;
    if (payload && payload->size > 0)
        say("heard %.*s", (int)payload->size, payload->bytes);
}

static void pull_from(const char *nspace) {
    pmix_proc_t all = process(nspace, PMIX_RANK_WILDCARD);
    say("pulled: %s", status_name(PMIx_IOF_pull(&all, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                                                on_output, NULL, NULL)));
}

/* The child ends when it sees the file: it lived when this process asked for the connect. */
static void connect_to(const char *nspace) {
    pmix_proc_t procs[2] = {me.proc, process(nspace, PMIX_RANK_WILDCARD)};
    struct answer connected;
    answer_init(&connected);
    double began = now();
    pmix_status_t rc = PMIx_Connect_nb(procs, 2, NULL, 0, answer_op, &connected);
    int file = open(ask.connect, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0)
        fail("%s: %s", ask.connect, strerror(errno));
    close(file);
    if (rc == PMIX_SUCCESS)
        rc = answer_wait(&connected, "PMIx_Connect_nb");
    if (rc == PMIX_SUCCESS || now() - began > 60)
        fail("PMIx_Connect_nb: %s after %.1f s", status_name(rc), now() - began);
    say("connect: %s", status_name(rc));
}

int main(int argc, char **argv) {
    begin(170); /* more than any script waits for a process that is to be ended */
    if (argc > 1 && !strcmp(argv[1], "child")) {
        child(argc > 2 ? atoi(argv[2]) : 0);
        must(PMIx_Finalize(NULL, 0));
        return 0;
    }
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--"); i++)
        option(argv[i]);
    for (; i < argc; i++) {
        if (!strcmp(argv[i], "--"))
            add_app(argv + i + 1);
    }
    if (!ask.app_count) {
        char word[] = "child", *own[] = {own_program(), word, NULL};
        add_app(own);
    }
    if (ask.last_info_count) {
        ask.apps[ask.app_count - 1].info = ask.last_info;
        ask.apps[ask.app_count - 1].ninfo = ask.last_info_count;
    }
    if (ask.rank < 0 || ask.rank == (long)me.rank) {
        for (int t = 0; t < ask.times; t++) {
            pmix_nspace_t nspace = "";
            if (t > 0 && ask.await)
                await_file(ask.await);
            if (ask.connect)
                unlink(ask.connect);
            pmix_info_t info[40];
            size_t n = ask.info_count + (t > 0 ? ask.again_count : 0);
            memcpy(info, ask.info, sizeof ask.info);
            memcpy(info + ask.info_count, ask.again, sizeof ask.again);
            double began = now();
            me.doing = "PMIx_Spawn";
            pmix_status_t rc = PMIx_Spawn(n ? info : NULL, n, ask.apps, ask.app_count, nspace);
            if (rc == PMIX_SUCCESS)
                say("spawned %s after %.3f s", nspace, now() - began);
            else
                say("refused %s (%d) after %.3f s", status_name(rc), rc, now() - began);
            if (ask.pull && rc == PMIX_SUCCESS)
                pull_from(nspace);
            if (ask.connect && rc == PMIX_SUCCESS)
                connect_to(nspace);
            if (!ask.any && (ask.any_error ? rc == PMIX_SUCCESS : rc != ask.wanted))
                fail("PMIx_Spawn: %s", status_name(rc));
        }
    }
    if (ask.abort)
        PMIx_Abort(7, "as it was asked", NULL, 0);
    me.doing = "waiting to be ended";
    while (ask.keep)
        pause();
    if (!ask.quit)
        fence();
    pass();
}
