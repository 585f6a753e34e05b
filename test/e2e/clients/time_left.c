/* A job waits until it is told that its time is nearly up: PMIX_JCTRL_PREEMPT_ALERT, and the code that newer
 * headers have for it, with at most SECONDS left, each once at each rank.
 * usage: time_left SECONDS */
#include "events.h"

static uint32_t left = UINT32_MAX;
static bool says_what_comes = true;
static unsigned times;

static void note(const struct event *warning) {
    const pmix_value_t *seconds = carried(warning, PMIX_TIME_REMAINING, PMIX_UINT32);
    if (seconds)
        left = seconds->data.uint32;
    const pmix_value_t *ends = carried(warning, PMIX_EVENT_TERMINATE_SESSION, PMIX_BOOL);
    const pmix_value_t *within = carried(warning, PMIX_EVENT_ACTION_TIMEOUT, PMIX_INT);
    const pmix_value_t *text = carried(warning, PMIX_EVENT_TEXT_MESSAGE, PMIX_STRING);
    if (!ends || !ends->data.flag || !within || (uint32_t)within->data.integer != left || !text ||
        !strstr(text->data.string, "allocation"))
        says_what_comes = false;
    times++;
}
EVENT_HANDLER(on_warning, note, PMIX_SUCCESS)

static void until_warned(uint32_t seconds) {
    pmix_status_t codes[] = {PMIX_JCTRL_PREEMPT_ALERT, -194 /* PMIX_ALLOC_TIMEOUT_WARNING */};
    register_nb(codes, 2, on_warning);
    fence();
    wait_for_count(&times, 1, "waiting for the warning");
    wait_for_count(&times, 2, "waiting for the warning by its other code");
    if (!says_what_comes)
        fail("it does not say what comes");
    if (left > seconds)
        fail("%u seconds are left", left);
    fence();
    if (times != 2)
        fail("warned %u times", times);
}

int main(int argc, char **argv) {
    if (argc < 2)
        fail("usage: time_left SECONDS");
    begin(150);
    until_warned((uint32_t)atoi(argv[1]));
    pass();
}
