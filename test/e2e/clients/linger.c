/* A job in the middle of its work, for tests that break something under it: all ranks but the
 * first wait in a fence, the first waits for data of the last or of OWNER; nothing of it ever comes.
 * usage: linger [OWNER]
 * Prints "there RANK" before, "told RANK: STATUS" when the waiting is over; ends only by a signal. */
#include "client.h"

int main(int argc, char **argv) {
    begin(480); /* longer than a whole script */
    fence_collect();
    say("there %u", me.rank);
    pmix_value_t *v = NULL;
    uint32_t owner = argc > 1 ? (uint32_t)atoi(argv[1]) : me.size - 1;
    pmix_status_t rc = me.rank ? fence_with(NULL, 0, 0, 0) : get_timed(owner, "never", 0, &v);
    say("told %u: %s", me.rank, status_name(rc));
    me.doing = "waiting to be ended";
    for (;;)
        pause();
}
