/* A job that the commands of `pmixhost` look at. Each rank posts "shows.posted", "of RANK" and the bytes 00 ff in
 * "shows.bytes"; rank 0 publishes "shows.published". Prints "there RANK", and ends when FILE exists; before that,
 * rank 0 notifies 7302, PMIX_ERR_UNREACH and 7301 to everybody when FILE.notify exists, and rank 3 looks "shows.port"
 * up when FILE.lookup does: "found TEXT".
 * usage: shows FILE */
#include "client.h"

static void post(const char *key, pmix_value_t *value) {
    me.doing = "PMIx_Put";
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key, value);
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Put of %s: %s", key, status_name(rc));
}

int main(int argc, char **argv) {
    begin(480); /* longer than a whole script */
    if (argc != 2)
        fail("which file?");
    char text[64], bytes[] = {0, (char)0xff};
    snprintf(text, sizeof text, "of %u", me.rank);
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    post("shows.posted", &value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes;
    value.data.bo.size = sizeof bytes;
    post("shows.bytes", &value);
    must(PMIx_Commit());
    if (me.rank == 0) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, "shows.published", "a word", PMIX_STRING);
        must(PMIx_Publish(&info, 1));
        PMIX_INFO_DESTRUCT(&info);
    }
    fence();
    say("there %u", me.rank);
    if (me.rank == 0) {
        char notify[4096];
        snprintf(notify, sizeof notify, "%s.notify", argv[1]);
        await_file(notify);
        const pmix_status_t codes[] = {7302, PMIX_ERR_UNREACH, 7301};
        for (int i = 0; i < 3; i++) {
            pmix_status_t rc = PMIx_Notify_event(codes[i], &me.proc, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL);
            if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
                fail("PMIx_Notify_event: %s", status_name(rc));
        }
    }
    if (me.rank == 3) {
        char lookup[4096];
        snprintf(lookup, sizeof lookup, "%s.lookup", argv[1]);
        await_file(lookup);
        pmix_pdata_t data;
        PMIX_PDATA_CONSTRUCT(&data);
        PMIX_LOAD_KEY(data.key, "shows.port");
        must(PMIx_Lookup(&data, 1, NULL, 0));
        say("found %s", data.value.type == PMIX_STRING ? data.value.data.string : "no text");
    }
    await_file(argv[1]);
    pass();
}
