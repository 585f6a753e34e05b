/* Linked into most MPI programs of the tests: a rank that waits leaves the processor to others. Open MPI asks over and
 * over whether something has come, and calls sched_yield() in between (test/e2e/common/words.sh). Where all others wait
 * in the same way that comes back at once: the test hosts' ranks would fill the few processors with their waiting. */
#include <time.h>

int sched_yield(void) {
    const struct timespec a_moment = {0, 20000};
    return nanosleep(&a_moment, NULL);
}
