/* What the test clients do with events: register a handler, wait for what it hears, read what an event
 * carries. A handler notes what it hears in variables of the client, one event at a time (`lock`), and
 * the client waits for a count or a condition of them. Every wait ends at the alarm of begin() at the
 * latest, or as soon as a handler has noted that something is wrong.
 */
#ifndef TEST_E2E_EVENTS_H
#define TEST_E2E_EVENTS_H

#include <pthread.h>

#include "client.h"

struct event {
    pmix_status_t code;
    const pmix_proc_t *source;
    const pmix_info_t *info; /* what it carries */
    size_t ninfo;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char wrong[1024]; /* what a handler saw that it should not */

/* For handlers. The client fails with it when it waits next; the last one counts. */
static inline void note_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void note_wrong(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(wrong, sizeof(wrong), fmt, ap);
    va_end(ap);
}

static inline void fail_if_wrong(void) {
    if (wrong[0])
        fail("%s", wrong);
}

/* NULL when it carries none of that type. */
static inline const pmix_value_t *carried(const struct event *event, const char *key, pmix_data_type_t type) {
    const pmix_info_t *info = find_info(event->info, event->ninfo, key);
    return info && info->value.type == type ? &info->value : NULL;
}

/* What the host says that it is about to end for it: "session", "job", "node", "process"; "" when nothing, and
 * more than one with a space between. */
static inline void ended_for_it(const struct event *event, char *out, size_t size) {
    static const char *const kinds[][2] = {{PMIX_EVENT_TERMINATE_SESSION, "session"},
                                           {PMIX_EVENT_TERMINATE_JOB, "job"},
                                           {PMIX_EVENT_TERMINATE_NODE, "node"},
                                           {PMIX_EVENT_TERMINATE_PROC, "process"}};
    *out = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const pmix_value_t *flag = carried(event, kinds[i][0], PMIX_BOOL);
        size_t used = strlen(out);
        if (flag && flag->data.flag)
            snprintf(out + used, size - used, "%s%s", used ? " " : "", kinds[i][1]);
    }
}

/* Defines the handler NAME, which has void TAKE(const struct event *) note the event and then answers
 * libpmix with OUTCOME: PMIX_SUCCESS, or what else is to become of the handlers that come after it. */
#define EVENT_HANDLER(name, take, outcome)                                                                             \
    static void name(size_t id_, pmix_status_t code_, const pmix_proc_t *source_, pmix_info_t info_[], size_t ninfo_,  \
                     pmix_info_t *results_, size_t nresults_, pmix_event_notification_cbfunc_fn_t done_,               \
                     void *cbdata_) {                                                                                  \
        (void)id_, (void)results_, (void)nresults_;                                                                    \
        struct event event_ = {code_, source_, info_, ninfo_};                                                         \
        pthread_mutex_lock(&lock);                                                                                     \
        take(&event_);                                                                                                 \
        pthread_cond_broadcast(&changed);                                                                              \
        pthread_mutex_unlock(&lock);                                                                                   \
        done_(outcome, NULL, 0, NULL, NULL, cbdata_);                                                                  \
    }

/* --- registering: in both forms that there are ---------------------------------------------------*/

/* `codes` NULL: a default handler. */
static inline void register_for(pmix_status_t *codes, size_t n, pmix_notification_fn_t handler) {
    me.doing = "PMIx_Register_event_handler";
    pmix_status_t rc = PMIx_Register_event_handler(codes, n, NULL, 0, handler, NULL, NULL);
    if (rc < 0)
        fail("PMIx_Register_event_handler: %s", status_name(rc));
}

static inline void answer_registered(pmix_status_t status, size_t id, void *cbdata) {
    (void)id;
    answer_op(status, cbdata);
}

/* Registers with a callback, and waits for it. */
static inline void register_nb(pmix_status_t *codes, size_t n, pmix_notification_fn_t handler) {
    struct answer registered;
    answer_init(&registered);
    PMIx_Register_event_handler(codes, n, NULL, 0, handler, answer_registered, &registered);
    pmix_status_t rc = answer_wait(&registered, "PMIx_Register_event_handler");
    if (rc != PMIX_SUCCESS)
        fail("PMIx_Register_event_handler: %s", status_name(rc));
}

/* --- waiting; `what` is for the alarm's verdict --------------------------------------------------*/

/* `come` looks at what the handlers noted; none of them runs meanwhile. */
static inline void wait_until(bool (*come)(void), const char *what) {
    me.doing = what;
    pthread_mutex_lock(&lock);
    while (!wrong[0] && !come())
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    fail_if_wrong();
}

/* Waits until a handler has counted so many. */
static inline void wait_for_count(const unsigned *count, unsigned times, const char *what) {
    me.doing = what;
    pthread_mutex_lock(&lock);
    while (!wrong[0] && *count < times)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    fail_if_wrong();
}

#endif
