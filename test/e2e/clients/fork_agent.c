/* A fork/exec agent (PMIX_FORKEXEC_AGENT), and a program for it to start.
 * usage: fork_agent          the agent: connects as a tool, asks what it is to start, starts it, and ends as that has
 *                            ended. Prints "agent NSPACE starts rank R"
 *        fork_agent child    a process of the job, which waits for the others: "started RANK of SIZE, local L of M with
 *                            PEERS" */
#include "queries.h"

#include <pmix_tool.h>

static uint32_t number(uint32_t rank, const char *key) {
    pmix_value_t *v = NULL;
    if (!get(rank, key, &v))
        fail("no %s", key);
    uint32_t n = v->type == PMIX_UINT16 ? v->data.uint16 : v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return n;
}

static void child(void) {
    begin(60);
    pmix_value_t *peers = NULL;
    if (!get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, &peers) || peers->type != PMIX_STRING)
        fail("no PMIX_LOCAL_PEERS");
    fence_collect();
    say("started %u of %u, local %u of %u with %s", me.rank, me.size, number(me.rank, PMIX_LOCAL_RANK),
        number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE), peers->data.string);
    must(PMIx_Finalize(NULL, 0));
}

static const char *variable_of(char **environment, const char *name) {
    size_t length = strlen(name);
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static void check(const pmix_app_t *app) {
    char here[4096];
    if (!app->cmd || !app->argv || !app->env || !app->cwd || app->maxprocs != 1)
        fail("the description is not whole");
    if (!variable_of(app->env, "PMIX_NAMESPACE") || !variable_of(app->env, "PMIX_RANK"))
        fail("what it is to start would be no process of the job");
    if (!getcwd(here, sizeof here) || strcmp(here, app->cwd))
        fail("it is not in %s", app->cwd);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) {
        child();
        return 0;
    }
    watch(100);
    if (getenv("PMIX_NAMESPACE") || getenv("PMIX_RANK"))
        fail("an agent is no process of the job");
    must(PMIx_tool_init(&me.proc, NULL, 0));
    const char *keys[] = {PMIX_FORKEXEC_AGENT, NULL};
    pmix_info_t which;
    pid_t own = getpid(), other = 1, pid = -1;
    PMIX_INFO_LOAD(&which, PMIX_PROC_PID, &other, PMIX_PID);
    pmix_status_t rc = ask(keys, &which, 1);
    if (rc != PMIX_ERR_NOT_FOUND)
        fail("what process 1 is to start: %s", status_name(rc));
    PMIX_INFO_LOAD(&which, PMIX_PROC_PID, &own, PMIX_PID);
    rc = ask(keys, &which, 1);
    if (rc != PMIX_SUCCESS)
        fail("what it is to start: %s", status_name(rc));
    const pmix_value_t *v = &results[0].value;
    if (nresults != 1 || v->type != PMIX_DATA_ARRAY || v->data.darray->type != PMIX_APP || v->data.darray->size != 1)
        fail("the description has %zu parts, the first one of type %d", nresults, v->type);
    const pmix_app_t *app = v->data.darray->array;
    check(app);
    say("agent %s starts rank %s", me.proc.nspace, variable_of(app->env, "PMIX_RANK"));
    me.doing = "waiting for what it has started";
    int error = posix_spawn(&pid, app->cmd, NULL, NULL, app->argv, app->env), status = 0;
    if (error)
        fail("%s: %s", app->cmd, strerror(error));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            fail("waitpid: %s", strerror(errno));
    must(PMIx_tool_finalize());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
