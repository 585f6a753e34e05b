// See pending_writes.h.
#include "server-glue/library/pending_writes.h"

#include <event2/event.h>

namespace pmixhost {

// What libpmix shifts to its thread is an event for writing, too, but of no descriptor. The base is locked meanwhile,
// so nothing is asked of the event that takes the lock once more, as event_pending() does.
static int look_at(const event_base *, const event *each, void *found) {
    if (event_get_fd(each) < 0 || !(event_get_events(each) & EV_WRITE))
        return 0;
    *static_cast<bool *>(found) = true;
    return 1; // it need not look further
}

bool has_pending_writes(event_base *base) {
    bool found = false;
    event_base_foreach_event(base, look_at, &found);
    return found;
}

} // namespace pmixhost
