/* PMIx_Log and PMIx_Process_monitor.
 * usage: log say TEXT          everybody logs "TEXT out RANK" to stdout and "TEXT err RANK" to stderr
 *        log once TEXT         to the first channel that works: e-mail (does not), stderr, stdout
 *        log labelled TEXT     to stdout, with channel name and time
 *        log xml TEXT          to stdout, as XML
 *        log repeated TEXT     one line three times to stderr, of which the library of each host lets one through
 *        log each-time TEXT    likewise, but all are to come
 *        log large             what fits and what does not
 *        log statuses          channels that are not offered, alone and beside others
 *        log monitor           heartbeats */
#include "client.h"

static void expect(const char *what, pmix_status_t got, pmix_status_t wanted) {
    if (got != wanted)
        fail("%s: %s, not %s", what, status_name(got), status_name(wanted));
}

static pmix_status_t put_out(pmix_info_t *data, size_t n, pmix_info_t *directives, size_t ndirs) {
    me.doing = "PMIx_Log";
    return PMIx_Log(data, n, directives, ndirs);
}

static pmix_status_t log_one(const char *channel, const char *text) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, channel, text, PMIX_STRING);
    pmix_status_t rc = put_out(&info, 1, NULL, 0);
    PMIX_INFO_DESTRUCT(&info);
    return rc;
}

static pmix_status_t monitor(const char *what, pmix_info_t *directives, size_t n) {
    pmix_info_t info, *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&info, what, NULL, PMIX_BOOL);
    me.doing = "PMIx_Process_monitor";
    return PMIx_Process_monitor(&info, PMIX_MONITOR_HEARTBEAT_ALERT, directives, n, &results, &nresults);
}

static pmix_status_t mail(const char *to, const char *subject, const char *text) {
    pmix_info_t info, *parts;
    pmix_data_array_t array;
    PMIX_INFO_CREATE(parts, 5);
    int port = 25;
    PMIX_INFO_LOAD(&parts[0], PMIX_LOG_EMAIL_ADDR, to, PMIX_STRING);
    PMIX_INFO_LOAD(&parts[1], PMIX_LOG_EMAIL_SUBJECT, subject, PMIX_STRING);
    PMIX_INFO_LOAD(&parts[2], PMIX_LOG_EMAIL_MSG, text, PMIX_STRING);
    PMIX_INFO_LOAD(&parts[3], PMIX_LOG_EMAIL_SRVR_PORT, &port, PMIX_INT32);
    PMIX_INFO_LOAD(&parts[4], PMIX_LOG_EMAIL_SENDER_ADDR, "job@site", PMIX_STRING);
    array.type = PMIX_INFO;
    array.array = parts;
    array.size = 5;
    PMIX_INFO_LOAD(&info, PMIX_LOG_EMAIL, &array, PMIX_DATA_ARRAY);
    return put_out(&info, 1, NULL, 0);
}

int main(int argc, char **argv) {
    begin(40);
    const char *what = argc > 1 ? argv[1] : "", *text = argc > 2 ? argv[2] : "";
    char out[256], err[256];
    pmix_info_t infos[3], directives[3];
    snprintf(out, sizeof(out), "%s out %u\n", text, me.rank);
    snprintf(err, sizeof(err), "%s err %u\n", text, me.rank);
    if (!strcmp(what, "say")) {
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDOUT, out, PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_LOG_STDERR, err, PMIX_STRING);
        expect("stdout and stderr", put_out(infos, 2, NULL, 0), PMIX_SUCCESS);
    } else if (!strcmp(what, "once")) {
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_EMAIL, "nobody", PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_LOG_STDERR, err, PMIX_STRING);
        PMIX_INFO_LOAD(&infos[2], PMIX_LOG_STDOUT, out, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_ONCE, NULL, PMIX_BOOL);
        expect("once", put_out(infos, 3, directives, 1), PMIX_SUCCESS);
    } else if (!strcmp(what, "labelled")) {
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDOUT, out, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_TAG_OUTPUT, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&directives[1], PMIX_LOG_TIMESTAMP_OUTPUT, NULL, PMIX_BOOL);
        expect("labelled", put_out(infos, 1, directives, 2), PMIX_SUCCESS);
    } else if (!strcmp(what, "dated")) {
        time_t new_year = 365 * 86400;
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDOUT, out, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_TIMESTAMP, &new_year, PMIX_TIME);
        PMIX_INFO_LOAD(&directives[1], PMIX_LOG_TIMESTAMP_OUTPUT, NULL, PMIX_BOOL);
        expect("dated", put_out(infos, 1, directives, 2), PMIX_SUCCESS);
    } else if (!strcmp(what, "xml")) {
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDOUT, out, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_XML_OUTPUT, NULL, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&directives[0]);
        expect("xml", put_out(infos, 1, directives, 1), PMIX_SUCCESS);
    } else if (!strcmp(what, "repeated") || !strcmp(what, "each-time")) {
        bool aggregate = !strcmp(what, "repeated");
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDERR, err, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_KEY, "pmixhost-test", PMIX_STRING);
        PMIX_INFO_LOAD(&directives[1], PMIX_LOG_VAL, text, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[2], PMIX_LOG_AGG, &aggregate, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&directives[2]);
        for (int i = 0; i < 3; i++)
            expect("a line that comes again", put_out(infos, 1, directives, 3), PMIX_SUCCESS);
    } else if (!strcmp(what, "blob")) {
        pmix_byte_object_t bytes = {.bytes = err, .size = strlen(err)};
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_MSG, &bytes, PMIX_BYTE_OBJECT);
        expect("bytes for nowhere", put_out(infos, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    } else if (!strcmp(what, "large")) {
        size_t most = 64 * 1024;
        char *large = malloc(most + 2);
        memset(large, 'x', most + 1);
        large[most] = '\n';
        large[most + 1] = 0;
        expect("64 KiB and one byte", log_one(PMIX_LOG_STDOUT, large), PMIX_ERR_OUT_OF_RESOURCE);
        large[most / 4] = '\n';
        large[most / 4 + 1] = 0;
        expect("16 KiB", log_one(PMIX_LOG_STDOUT, large), PMIX_SUCCESS);
    } else if (!strcmp(what, "statuses")) {
        expect("e-mail", mail("nobody@site", "news", "nothing"), PMIX_ERR_NOT_SUPPORTED);
        expect("a global store", log_one(PMIX_LOG_GLOBAL_DATASTORE, "x"), PMIX_ERR_NOT_SUPPORTED);
        expect("another channel", log_one("test.channel", "x"), PMIX_ERR_NOT_SUPPORTED);
        expect("syslog", log_one(PMIX_LOG_SYSLOG, "a test of PMIx_Log"), PMIX_SUCCESS);
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_GLOBAL_DATASTORE, "x", PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_LOG_STDERR, err, PMIX_STRING);
        expect("one of two", put_out(infos, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
        int number = 7;
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDERR, &number, PMIX_INT);
        expect("a number", put_out(infos, 1, NULL, 0), PMIX_ERR_BAD_PARAM);
        PMIX_INFO_LOAD(&directives[0], "test.unknown", NULL, PMIX_BOOL);
        expect("an optional directive", put_out(&infos[1], 1, directives, 1), PMIX_SUCCESS);
        PMIX_INFO_REQUIRED(&directives[0]);
        expect("a required directive", put_out(&infos[1], 1, directives, 1), PMIX_ERR_NOT_SUPPORTED);
    } else if (!strcmp(what, "record")) {
        char line[64], large[1026];
        snprintf(line, sizeof(line), "step %u\nis done", me.rank);
        expect("the job's record", log_one(PMIX_LOG_JOB_RECORD, line), PMIX_SUCCESS);
        fence();
        memset(large, 'x', sizeof(large) - 1);
        large[1025] = 0;
        expect("more than 1 KiB", log_one(PMIX_LOG_JOB_RECORD, large), PMIX_ERR_OUT_OF_RESOURCE);
        large[1000] = 0;
        expect("more than 1 KiB in all", log_one(PMIX_LOG_JOB_RECORD, large), PMIX_ERR_OUT_OF_RESOURCE);
        PMIX_INFO_LOAD(&infos[0], PMIX_LOG_STDERR, err, PMIX_STRING);
        PMIX_INFO_LOAD(&infos[1], PMIX_LOG_JOB_RECORD, large, PMIX_STRING);
        expect("one of two", put_out(infos, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_ONCE, NULL, PMIX_BOOL);
        expect("once", put_out(infos, 2, directives, 1), PMIX_SUCCESS);
    } else if (!strcmp(what, "mail")) {
        expect("a mail", mail("op@site, boss@site", "news", "all is well"), PMIX_SUCCESS);
        expect("a mail to nobody", mail("", "news", "x"), PMIX_ERR_BAD_PARAM);
        expect("an option as an address", mail("-oQ/tmp", "news", "x"), PMIX_ERR_BAD_PARAM);
        expect("a subject of two lines", mail("op@site", "news\nBcc: all@site", "x"), PMIX_ERR_BAD_PARAM);
        expect("no array", log_one(PMIX_LOG_EMAIL, "op@site"), PMIX_ERR_BAD_PARAM);
        expect("a mail that is refused", mail("refused@site", "news", "x"), PMIX_ERROR);
    } else if (!strcmp(what, "no-record")) {
        expect("the job's record", log_one(PMIX_LOG_JOB_RECORD, "x"), PMIX_ERR_NOT_SUPPORTED);
    } else if (!strcmp(what, "monitor")) {
        uint32_t seconds = 5;
        PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_ID, "beat", PMIX_STRING);
        PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
        expect("heartbeats", monitor(PMIX_MONITOR_HEARTBEAT, directives, 2), PMIX_SUCCESS);
        PMIx_Heartbeat();
    } else {
        fail("usage: log say|once|labelled|dated|xml|large|statuses|record|no-record|mail|monitor [TEXT]");
    }
    fence();
    pass();
}
