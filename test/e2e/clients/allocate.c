/* PMIx_Allocation_request. Rank 0 makes the requests, one after the other; the others wait for it.
 *
 *   allocate WORD ...
 *
 * Words: new, extend, release, reaquire, external (the directives) begin a request; what follows
 * belongs to it: nodes=N list=HOSTS cpus=N mem=MB time=SECONDS queue=NAME id=ID (@: the last new one's)
 * reqid=NAME timeout=SECONDS, required=KEY and optional=KEY (with a text). await=FILE waits for it; die
 * ends the process. hear=N, the first word: all ranks hear of sessions, "session starts ID" or "session ends ID", and
 * wait at the end until they have heard N times. Each request prints "DIRECTIVE STATUS KEY=VALUE ... after SECONDS".
 */
#include "events.h"

static struct {
    const char *name;
    pmix_alloc_directive_t directive;
    pmix_info_t info[16];
    size_t n;
} request;
static char last[64];

static unsigned heard;
static void note(const struct event *event) {
    const pmix_value_t *id = carried(event, PMIX_ALLOC_ID, PMIX_STRING),
                       *number = carried(event, PMIX_SESSION_ID, PMIX_UINT32);
    if (!id || !number || number->data.uint32 != strtoul(id->data.string, NULL, 10))
        note_wrong("an event of a session without its number");
    else
        say("session %s %s", event->code == PMIX_EVENT_SESSION_START ? "starts" : "ends", id->data.string);
    heard++;
}
EVENT_HANDLER(on_session, note, PMIX_SUCCESS)

static void add(const char *key, const void *value, pmix_data_type_t type) {
    if (request.n == sizeof(request.info) / sizeof(request.info[0]))
        fail("too many words");
    PMIX_INFO_LOAD(&request.info[request.n], key, value, type);
    request.n++;
}

static size_t put(char *line, size_t size, const pmix_info_t *info) {
    const pmix_value_t *v = &info->value;
    int n = -1;
    if (v->type == PMIX_STRING)
        n = snprintf(line, size, " %s=%s", info->key, v->data.string);
    else if (v->type == PMIX_UINT64)
        n = snprintf(line, size, " %s=%lu", info->key, (unsigned long)v->data.uint64);
    else if (v->type == PMIX_UINT32)
        n = snprintf(line, size, " %s=%u", info->key, v->data.uint32);
    else
        fail("%s has type %d", info->key, v->type);
    return (size_t)n < size ? (size_t)n : size;
}

static void send_request(void) {
    if (!request.name)
        return;
    pmix_info_t *results = NULL;
    size_t nresults = 0, used = 0;
    char line[2048] = "";
    double since = now();
    me.doing = "PMIx_Allocation_request";
    pmix_status_t rc = PMIx_Allocation_request(request.directive, request.info, request.n, &results, &nresults);
    for (size_t i = 0; i < nresults; i++) {
        used += put(line + used, sizeof(line) - used, &results[i]);
        if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_ID) && request.directive == PMIX_ALLOC_NEW)
            snprintf(last, sizeof(last), "%s", results[i].value.data.string);
    }
    say("%s %s%s after %.1f", request.name, status_name(rc), line, now() - since);
    if (results)
        PMIX_INFO_FREE(results, nresults);
    for (size_t i = 0; i < request.n; i++)
        PMIX_INFO_DESTRUCT(&request.info[i]);
    request.n = 0;
    request.name = NULL;
}

static bool begins(const char *word) {
    static const struct {
        const char *name;
        pmix_alloc_directive_t directive;
    } all[] = {{"new", PMIX_ALLOC_NEW},
               {"extend", PMIX_ALLOC_EXTEND},
               {"release", PMIX_ALLOC_RELEASE},
               {"reaquire", PMIX_ALLOC_REAQUIRE},
               {"external", PMIX_ALLOC_EXTERNAL}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (!strcmp(word, all[i].name)) {
            send_request();
            request.name = all[i].name;
            request.directive = all[i].directive;
            return true;
        }
    }
    return false;
}

static void take(char *word) {
    if (begins(word))
        return;
    if (!strcmp(word, "die")) {
        send_request();
        kill(getpid(), SIGKILL);
    }
    char *value = strchr(word, '=');
    if (!value)
        fail("what is %s?", word);
    *value++ = '\0';
    uint64_t big = strtoull(value, NULL, 10);
    uint32_t number = (uint32_t)big;
    int plain = atoi(value);
    float size = strtof(value, NULL);
    if (!strcmp(word, "await")) {
        send_request();
        await_file(value);
    } else if (!strcmp(word, "nodes"))
        add(PMIX_ALLOC_NUM_NODES, &big, PMIX_UINT64);
    else if (!strcmp(word, "cpus"))
        add(PMIX_ALLOC_NUM_CPUS, &big, PMIX_UINT64);
    else if (!strcmp(word, "mem"))
        add(PMIX_ALLOC_MEM_SIZE, &size, PMIX_FLOAT);
    else if (!strcmp(word, "time"))
        add(PMIX_ALLOC_TIME, &number, PMIX_UINT32);
    else if (!strcmp(word, "list"))
        add(PMIX_ALLOC_NODE_LIST, value, PMIX_STRING);
    else if (!strcmp(word, "queue"))
        add(PMIX_ALLOC_QUEUE, value, PMIX_STRING);
    else if (!strcmp(word, "id"))
        add(PMIX_ALLOC_ID, strcmp(value, "@") ? value : last, PMIX_STRING);
    else if (!strcmp(word, "reqid"))
        add(PMIX_ALLOC_REQ_ID, value, PMIX_STRING);
    else if (!strcmp(word, "timeout"))
        add(PMIX_TIMEOUT, &plain, PMIX_INT);
    else if (!strcmp(word, "required") || !strcmp(word, "optional")) {
        add(value, "x", PMIX_STRING);
        if (word[0] == 'r')
            PMIX_INFO_REQUIRED(&request.info[request.n - 1]);
    } else
        fail("what is %s?", word);
}

int main(int argc, char **argv) {
    begin(120);
    unsigned wanted = 0;
    if (argc > 1 && !strncmp(argv[1], "hear=", 5)) {
        pmix_status_t codes[] = {PMIX_EVENT_SESSION_START, PMIX_EVENT_SESSION_END};
        wanted = (unsigned)atoi(argv[1] + 5);
        register_for(codes, 2, on_session);
        fence();
    }
    if (me.rank == 0) {
        for (int i = wanted ? 2 : 1; i < argc; i++)
            take(argv[i]);
        send_request();
    }
    wait_for_count(&heard, wanted, "the starts and ends of sessions");
    fence();
    pass();
}
