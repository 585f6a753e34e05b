/* A PMIx tool that follows what a job writes, and writes to its standard input.
 * usage: io_tool NS WHAT ...
 * NS     or "-", in a process of a job: it does this as a client, of its own job
 * WHAT   with KEY[=NUMBER] ...  directives of the pulls behind it: copy, redirect, oldest, newest, tag, cache=BYTES,
 *                               size=BYTES and time=SECONDS (of PMIX_IOF_BUFFERING_), required (the last one said
 *                               must be met)
 *        pull DIR RANKS CHANNELS  RANKS "all" or "0,2"; CHANNELS "out", "err" or "both". What comes is written to
 *                               DIR/RANK.out and DIR/RANK.err, byte for byte; "pull: STATUS"
 *        as FORMAT[=TEXT]       before all else, for PMIx_tool_init: tag, timestamp, xml, rank, file=PATH,
 *                               directory=PATH, only (with the last two: nowhere else), local
 *        print RANKS CHANNELS   likewise, and libpmix writes what comes to where it belongs; "print: STATUS"
 *        ends N                 waits until N streams have ended: "ended N"
 *        bytes N                waits until that many bytes have come: "got N"
 *        missed N               waits until that many bytes have come or are said to be missing: "missed BYTES"
 *        pieces                 how many there were since the last time: "pieces N"
 *        drop                   the last pull is over: "drop: STATUS"; "drop_waiting" is the same without a callback
 *        push RANKS TEXT        to their standard input, with a newline: "push: STATUS"
 *        feed RANKS BYTES       as many bytes, 64 KiB at a time: "feed: STATUS"
 *        flood RANKS BYTES      the same without waiting for an answer, until one is refused: "flood: STATUS"
 *        flooded                all have been answered: "flooded: BYTES" that were taken
 *        close RANKS            their standard input ends: "close: STATUS"
 *        typed RANKS            its library reads its standard input for them (PMIX_IOF_PUSH_STDIN): "typed: STATUS"
 *        stop FILE              the callback waits, as in a tool that does not read, until FILE exists
 *        hold FILE              "held", and then waits until FILE exists
 *        listen                 hears of PMIX_ERR_IOF_FAILURE from now on
 *        failure                waits for one: "failure: RANKS CHANNELS"
 *        make FILE              makes it
 *        of OTHER-NS            what follows is about the processes of that one
 *        spawn N CHANNELS COMMAND  starts so many shells with it, whose streams CHANNELS (of "ioe") are forwarded:
 *                               "spawn: STATUS"; what follows is about these. CHANNELS with a digit: the input is this
 *                               rank's alone; with "t":
 *                               PMIX_IOF_TIMESTAMP_OUTPUT, required; "g": PMIX_IOF_TAG_OUTPUT, required; "f":
 *                               PMIX_IOF_OUTPUT_TO_FILE "kept", required; "b": PMIX_IOF_BUFFERING_SIZE 4096 and
 *                               _TIME 60, required; "n": PMIX_NOHUP */
#include "events.h"

#include <pmix_tool.h>

#include <sys/stat.h>

enum { most_ranks = 1024 };

static struct {
    sem_t news;
    unsigned long long bytes, missing; /* the second one: as pmixhost says it, in an attribute of its own */
    unsigned ends, pieces;
    char directory[1024];
    const char *stopped_until;
    size_t id;
} heard;

static void write_all(const char *path, const char *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    while (fd >= 0 && size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0)
            break;
        bytes += n;
        size -= (size_t)n;
    }
    if (fd >= 0)
        close(fd);
}

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *payload,
                      pmix_info_t info[], size_t ninfo) {
    (void)id;
    char path[1100];
    if (heard.stopped_until)
        await_file(heard.stopped_until);
    if (payload && payload->size > 0) {
        snprintf(path, sizeof path, "%s/%u.%s", heard.directory, source->rank,
                 channel & PMIX_FWD_STDERR_CHANNEL ? "err" : "out");
        write_all(path, payload->bytes, payload->size);
        __atomic_add_fetch(&heard.pieces, 1, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&heard.bytes, payload->size, __ATOMIC_SEQ_CST);
    }
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_IOF_COMPLETE))
            __atomic_add_fetch(&heard.ends, 1, __ATOMIC_SEQ_CST);
        if (PMIX_CHECK_KEY(&info[i], "pmixhost.iof.missing") && info[i].value.type == PMIX_UINT64)
            __atomic_add_fetch(&heard.missing, info[i].value.data.uint64, __ATOMIC_SEQ_CST);
    }
    sem_post(&heard.news);
}

static pmix_proc_t *processes_of(const char *nspace, const char *ranks, size_t *count) {
    static pmix_proc_t procs[most_ranks];
    *count = 0;
    if (!strcmp(ranks, "all")) {
        procs[(*count)++] = process(nspace, PMIX_RANK_WILDCARD);
        return procs;
    }
    char *copy = strdup(ranks), *rest = copy;
    for (char *one = strsep(&rest, ","); one && *count < most_ranks; one = strsep(&rest, ","))
        procs[(*count)++] = process(nspace, (pmix_rank_t)atoi(one));
    free(copy);
    return procs;
}

static struct {
    sem_t there;
    pmix_status_t status;
} answer;

static void on_registered(pmix_status_t status, size_t id, void *data) {
    (void)data;
    heard.id = id;
    answer.status = status;
    sem_post(&answer.there);
}

static void on_done(pmix_status_t status, void *data) {
    (void)data;
    answer.status = status;
    sem_post(&answer.there);
}

static pmix_status_t settle(pmix_status_t rc, const char *what) {
    if (rc == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (rc == PMIX_SUCCESS) {
        await(&answer.there, what);
        rc = answer.status;
    }
    return rc;
}

static pmix_status_t push(const char *nspace, const char *ranks, char *bytes, size_t size) {
    size_t count;
    pmix_proc_t *procs = processes_of(nspace, ranks, &count);
    pmix_byte_object_t object = {.bytes = bytes, .size = size};
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_IOF_COMPLETE, &yes, PMIX_BOOL);
    return settle(PMIx_IOF_push(procs, count, &object, size ? NULL : &info, size ? 0 : 1, on_done, NULL),
                  "PMIx_IOF_push");
}

static pmix_status_t push_stdin(const char *nspace, const char *ranks) {
    size_t count;
    pmix_proc_t *procs = processes_of(nspace, ranks, &count);
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_IOF_PUSH_STDIN, &yes, PMIX_BOOL);
    return settle(PMIx_IOF_push(procs, count, NULL, &info, 1, on_done, NULL), "PMIx_IOF_push");
}

static pmix_status_t feed(const char *nspace, const char *ranks, long size) {
    static char block[64 << 10];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)('a' + i % 26);
    while (size > 0) {
        size_t piece = size < (long)sizeof block ? (size_t)size : sizeof block;
        pmix_status_t rc = push(nspace, ranks, block, piece);
        if (rc != PMIX_SUCCESS)
            return rc;
        size -= (long)piece;
    }
    return PMIX_SUCCESS;
}

static struct {
    sem_t news;
    unsigned under_way;
    pmix_status_t refusal;
    unsigned long long taken;
} flood;

static void on_flooded(pmix_status_t status, void *size) {
    if (status == PMIX_SUCCESS)
        __atomic_add_fetch(&flood.taken, (unsigned long long)(uintptr_t)size, __ATOMIC_SEQ_CST);
    else
        __atomic_store_n(&flood.refusal, status, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&flood.under_way, 1, __ATOMIC_SEQ_CST);
    sem_post(&flood.news);
}

static pmix_status_t push_many(const char *nspace, const char *ranks, long size) {
    static char block[64 << 10];
    static pmix_byte_object_t object = {.bytes = block, .size = sizeof block}; /* libpmix may still read it */
    memset(block, 'f', sizeof block);
    size_t count;
    pmix_proc_t *procs = processes_of(nspace, ranks, &count);
    sem_init(&flood.news, 0, 0);
    for (; size > 0; size -= (long)sizeof block) {
        __atomic_add_fetch(&flood.under_way, 1, __ATOMIC_SEQ_CST);
        void *bytes = (void *)(uintptr_t)sizeof block;
        pmix_status_t rc = PMIx_IOF_push(procs, count, &object, NULL, 0, on_flooded, bytes);
        if (rc == PMIX_OPERATION_SUCCEEDED)
            on_flooded(PMIX_SUCCESS, bytes);
        else if (rc != PMIX_SUCCESS)
            on_flooded(rc, bytes);
    }
    while (__atomic_load_n(&flood.refusal, __ATOMIC_SEQ_CST) == PMIX_SUCCESS)
        await(&flood.news, "a refusal");
    return flood.refusal;
}

static void did(const char *what, pmix_status_t rc) {
    say("%s: %s", what, status_name(rc));
}

static pmix_status_t spawn_shells(int count, const char *channels, char *command, pmix_nspace_t nspace) {
    static char shell[] = "/bin/sh", option[] = "-c", directory[4096];
    char *arguments[] = {shell, option, command, NULL};
    pmix_info_t info[9];
    uint32_t size = 4096, seconds = 60;
    size_t given = 0;
    bool yes = true;
    const char *digit = strpbrk(channels, "0123456789");
    pmix_rank_t whom = digit ? (pmix_rank_t)(*digit - '0') : PMIX_RANK_WILDCARD;
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = shell;
    app.argv = arguments;
    app.cwd = getcwd(directory, sizeof directory);
    app.maxprocs = count;
    if (strchr(channels, 'i'))
        PMIX_INFO_LOAD(&info[given++], PMIX_FWD_STDIN, &whom, PMIX_PROC_RANK);
    if (strchr(channels, 'o'))
        PMIX_INFO_LOAD(&info[given++], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    if (strchr(channels, 'e'))
        PMIX_INFO_LOAD(&info[given++], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
    size_t plain = given;
    if (strchr(channels, 't'))
        PMIX_INFO_LOAD(&info[given++], PMIX_IOF_TIMESTAMP_OUTPUT, &yes, PMIX_BOOL);
    if (strchr(channels, 'g'))
        PMIX_INFO_LOAD(&info[given++], PMIX_IOF_TAG_OUTPUT, &yes, PMIX_BOOL);
    if (strchr(channels, 'f'))
        PMIX_INFO_LOAD(&info[given++], PMIX_IOF_OUTPUT_TO_FILE, "kept", PMIX_STRING);
    if (strchr(channels, 'b')) {
        PMIX_INFO_LOAD(&info[given++], PMIX_IOF_BUFFERING_SIZE, &size, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[given++], PMIX_IOF_BUFFERING_TIME, &seconds, PMIX_UINT32);
    }
    for (size_t i = plain; i < given; i++)
        PMIX_INFO_REQUIRED(&info[i]);
    if (strchr(channels, 'n'))
        PMIX_INFO_LOAD(&info[given++], PMIX_NOHUP, &yes, PMIX_BOOL);
    /* libpmix 5.0.7 fails with PMIX_ERR_EMPTY where a tool gives none. */
    bool no = false;
    if (given == 0)
        PMIX_INFO_LOAD(&info[given++], PMIX_NOTIFY_COMPLETION, &no, PMIX_BOOL);
    return PMIx_Spawn(info, given, &app, 1, nspace);
}

/* The words "as FORMAT" that `words` begins with; at most 7. */
static size_t read_formats(char **words, pmix_info_t *into) {
    static const struct {
        const char *name, *key;
    } formats[] = {{"tag", PMIX_IOF_TAG_OUTPUT},       {"timestamp", PMIX_IOF_TIMESTAMP_OUTPUT},
                   {"xml", PMIX_IOF_XML_OUTPUT},       {"rank", PMIX_IOF_RANK_OUTPUT},
                   {"file=", PMIX_IOF_OUTPUT_TO_FILE}, {"directory=", PMIX_IOF_OUTPUT_TO_DIRECTORY},
                   {"only", PMIX_IOF_FILE_ONLY},       {"local", PMIX_IOF_LOCAL_OUTPUT}};
    size_t count = 0;
    bool yes = true;
    for (; words[0] && words[1] && !strcmp(words[0], "as") && count < 7; words += 2) {
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            const char *text = strchr(words[1], '=');
            size_t size = text ? (size_t)(text - words[1]) + 1 : strlen(words[1]);
            if (strlen(formats[i].name) != size || strncmp(words[1], formats[i].name, size) != 0)
                continue;
            if (text)
                PMIX_INFO_LOAD(&into[count], formats[i].key, text + 1, PMIX_STRING);
            else
                PMIX_INFO_LOAD(&into[count], formats[i].key, &yes, PMIX_BOOL);
            count++;
        }
    }
    return count;
}

static pmix_iof_channel_t channels_of(const char *word) {
    return !strcmp(word, "out")   ? PMIX_FWD_STDOUT_CHANNEL
           : !strcmp(word, "err") ? PMIX_FWD_STDERR_CHANNEL
                                  : PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
}

static char failure[1024]; /* the first one */

static void note_failure(const struct event *event) {
    const pmix_value_t *one = carried(event, PMIX_EVENT_AFFECTED_PROC, PMIX_PROC),
                       *several = carried(event, PMIX_EVENT_AFFECTED_PROCS, PMIX_DATA_ARRAY);
    const pmix_proc_t *procs = one ? one->data.proc : several ? several->data.darray->array : NULL;
    size_t count = one ? 1 : several ? several->data.darray->size : 0, length = 0;
    if (failure[0])
        return;
    for (size_t i = 0; i < count && length < sizeof failure / 2; i++) {
        const char *comma = i > 0 ? "," : "";
        length += procs[i].rank == PMIX_RANK_WILDCARD
                      ? (size_t)snprintf(failure + length, 16, "%sall", comma)
                      : (size_t)snprintf(failure + length, 16, "%s%u", comma, procs[i].rank);
    }
    snprintf(failure + length, sizeof failure - length, "%s%s",
             carried(event, PMIX_FWD_STDOUT, PMIX_BOOL) ? " out" : "",
             carried(event, PMIX_FWD_STDERR, PMIX_BOOL) ? " err" : "");
}
EVENT_HANDLER(on_failure, note_failure, PMIX_SUCCESS)

static bool has_failed(void) {
    return failure[0] != 0;
}

int main(int argc, char **argv) {
    pmix_info_t directives[8];
    size_t ndirs = 0;
    watch(100);
    sem_init(&heard.news, 0, 0);
    sem_init(&answer.there, 0, 0);
    if (argc < 2)
        fail("usage: io_tool NS WHAT ...");
    const char *nspace = argv[1];
    pmix_nspace_t child = "";
    pmix_info_t init[8];
    size_t formats = read_formats(argv + 2, init);
    PMIX_INFO_LOAD(&init[formats], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    me.doing = "PMIx_tool_init";
    bool is_named = getenv("PMIX_SERVER_URI41") != NULL, is_client = !strcmp(nspace, "-");
    pmix_status_t rc =
        is_client ? PMIx_Init(&me.proc, NULL, 0) : PMIx_tool_init(&me.proc, init, formats + (is_named ? 0 : 1));
    if (is_client)
        nspace = me.proc.nspace;
    else if (rc != PMIX_SUCCESS)
        rc = PMIx_tool_init(&me.proc, init, formats); /* where `pmixhost with` says which */
    if (rc != PMIX_SUCCESS) {
        did("init", rc);
        return 1;
    }
    for (char **word = argv + 2; *word; word++) {
        const char *what = me.doing = *word;
        if (!strcmp(what, "with") && word[1]) {
            char *key = *++word;
            uint32_t number = strchr(key, '=') ? (uint32_t)atoi(strchr(key, '=') + 1) : 0;
            bool yes = true;
            if (!strncmp(key, "cache", 5))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_CACHE_SIZE, &number, PMIX_UINT32);
            else if (!strcmp(key, "oldest"))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_DROP_OLDEST, &yes, PMIX_BOOL);
            else if (!strcmp(key, "newest"))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_DROP_NEWEST, &yes, PMIX_BOOL);
            else if (!strcmp(key, "tag"))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_TAG_OUTPUT, &yes, PMIX_BOOL);
            else if (!strcmp(key, "copy"))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_COPY, &yes, PMIX_BOOL);
            else if (!strcmp(key, "redirect"))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_REDIRECT, &yes, PMIX_BOOL);
            else if (!strncmp(key, "size", 4))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_BUFFERING_SIZE, &number, PMIX_UINT32);
            else if (!strncmp(key, "time", 4))
                PMIX_INFO_LOAD(&directives[ndirs++], PMIX_IOF_BUFFERING_TIME, &number, PMIX_UINT32);
            else if (!strcmp(key, "unknown"))
                PMIX_INFO_LOAD(&directives[ndirs++], "pmixhost.no.such.thing", &yes, PMIX_BOOL);
            else if (!strcmp(key, "required") && ndirs > 0)
                PMIX_INFO_REQUIRED(&directives[ndirs - 1]);
        } else if (!strcmp(what, "pull") && word[1] && word[2] && word[3]) {
            snprintf(heard.directory, sizeof heard.directory, "%s", word[1]);
            mkdir(heard.directory, 0755);
            size_t count;
            pmix_proc_t *procs = processes_of(nspace, word[2], &count);
            pmix_iof_channel_t channels = channels_of(word[3]);
            word += 3;
            did(what, settle(PMIx_IOF_pull(procs, count, ndirs ? directives : NULL, ndirs, channels, on_output,
                                           on_registered, NULL),
                             "PMIx_IOF_pull"));
        } else if (!strcmp(what, "print") && word[1] && word[2]) {
            size_t count;
            pmix_proc_t *procs = processes_of(nspace, word[1], &count);
            pmix_iof_channel_t channels = channels_of(word[2]);
            word += 2;
            did(what,
                settle(PMIx_IOF_pull(procs, count, NULL, 0, channels, NULL, on_registered, NULL), "PMIx_IOF_pull"));
        } else if (!strcmp(what, "as") && word[1]) {
            ++word; /* of PMIx_tool_init */
        } else if (!strcmp(what, "ends") && word[1]) {
            unsigned wanted = (unsigned)atoi(*++word);
            while (__atomic_load_n(&heard.ends, __ATOMIC_SEQ_CST) < wanted)
                await(&heard.news, "the ends of streams");
            say("ended %u", wanted);
        } else if (!strcmp(what, "bytes") && word[1]) {
            unsigned long long wanted = strtoull(*++word, NULL, 10);
            while (__atomic_load_n(&heard.bytes, __ATOMIC_SEQ_CST) < wanted)
                await(&heard.news, "bytes");
            say("got %llu", wanted);
        } else if (!strcmp(what, "missed") && word[1]) {
            unsigned long long wanted = strtoull(*++word, NULL, 10);
            while (__atomic_load_n(&heard.bytes, __ATOMIC_SEQ_CST) + __atomic_load_n(&heard.missing, __ATOMIC_SEQ_CST) <
                   wanted)
                await(&heard.news, "bytes, or word of what is missing");
            say("missed %llu", heard.missing);
        } else if (!strcmp(what, "pieces")) {
            say("pieces %u", __atomic_exchange_n(&heard.pieces, 0, __ATOMIC_SEQ_CST));
        } else if (!strcmp(what, "drop")) {
            did(what, settle(PMIx_IOF_deregister(heard.id, NULL, 0, on_done, NULL), "PMIx_IOF_deregister"));
        } else if (!strcmp(what, "drop_waiting")) {
            did(what, PMIx_IOF_deregister(heard.id, NULL, 0, NULL, NULL));
        } else if (!strcmp(what, "push") && word[1] && word[2]) {
            char text[4096];
            int size = snprintf(text, sizeof text, "%s\n", word[2]);
            did(what, push(nspace, word[1], text, (size_t)size));
            word += 2;
        } else if (!strcmp(what, "feed") && word[1] && word[2]) {
            did(what, feed(nspace, word[1], atol(word[2])));
            word += 2;
        } else if (!strcmp(what, "flood") && word[1] && word[2]) {
            did(what, push_many(nspace, word[1], atol(word[2])));
            word += 2;
        } else if (!strcmp(what, "flooded")) {
            while (__atomic_load_n(&flood.under_way, __ATOMIC_SEQ_CST) > 0)
                await(&flood.news, "the answers");
            say("flooded: %llu", __atomic_load_n(&flood.taken, __ATOMIC_SEQ_CST));
        } else if (!strcmp(what, "close") && word[1]) {
            did(what, push(nspace, *++word, NULL, 0));
        } else if (!strcmp(what, "typed") && word[1]) {
            did(what, push_stdin(nspace, *++word));
        } else if (!strcmp(what, "stop") && word[1]) {
            heard.stopped_until = *++word;
        } else if (!strcmp(what, "listen")) {
            pmix_status_t code = PMIX_ERR_IOF_FAILURE;
            register_nb(&code, 1, on_failure);
        } else if (!strcmp(what, "failure")) {
            wait_until(has_failed, "PMIX_ERR_IOF_FAILURE");
            say("failure: %s", failure);
        } else if (!strcmp(what, "make") && word[1]) {
            close(open(*++word, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        } else if (!strcmp(what, "of") && word[1]) {
            nspace = *++word;
        } else if (!strcmp(what, "spawn") && word[1] && word[2] && word[3]) {
            pmix_status_t spawned = spawn_shells(atoi(word[1]), word[2], word[3], child);
            nspace = child;
            word += 3;
            did(what, spawned);
        } else if (!strcmp(what, "hold") && word[1]) {
            say("held");
            await_file(*++word);
        } else {
            fail("there is no '%s', or not like this", what);
        }
    }
    me.doing = "PMIx_tool_finalize";
    did("finalize", is_client ? PMIx_Finalize(NULL, 0) : PMIx_tool_finalize());
    return 0;
}
