// Keeps a fault of libpmix 4.2.2 from stopping the daemon: it sets the timer of a collective that
// gives PMIX_TIMEOUT (groups, connect) once for each local participant, in one event that is
// pending by then. That breaks libevent's list of timers, and when the time is up libpmix' thread
// turns for ever (contrib/doc/decisions/libpmix.md). libevent asks for a pending event to be taken
// back first: that is what this function does, in libevent's name, for whoever forgets it. A
// library that does not is not affected, nor are the timers of this program, whose callbacks are in
// its own text: what it costs to look grows with the number of pending events.
//
// Linked into pmixhostd itself: the dynamic linker prefers a program's functions to a library's.
#include <cstdint>
#include <dlfcn.h>
#include <event2/event.h>

// Where the program's own text begins and ends; the linker defines them.
extern "C" const char __executable_start, etext;

namespace {

bool own(event_callback_fn callback) {
    auto address = reinterpret_cast<std::uintptr_t>(callback);
    return address >= reinterpret_cast<std::uintptr_t>(&__executable_start) &&
           address < reinterpret_cast<std::uintptr_t>(&etext);
}

struct Search {
    const event *wanted;
    bool found;
};

bool pending(const event_base *base, const event *wanted) {
    Search search{wanted, false};
    event_base_foreach_event(
        const_cast<event_base *>(base),
        [](const event_base *, const event *each, void *data) {
            auto *the = static_cast<Search *>(data);
            the->found = each == the->wanted;
            return the->found ? 1 : 0; // enough
        },
        &search);
    return search.found;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int event_assign(event *ev, event_base *base,
                                                                   evutil_socket_t fd, short events,
                                                                   event_callback_fn callback,
                                                                   void *argument) {
    using Assign =
        int (*)(event *, event_base *, evutil_socket_t, short, event_callback_fn, void *);
    static const auto assign = reinterpret_cast<Assign>(dlsym(RTLD_NEXT, "event_assign"));
    // Of a timer: the memory may never have been an event, so only its address is looked at.
    if (base && fd == -1 && (events & (EV_READ | EV_WRITE | EV_SIGNAL)) == 0 && !own(callback) &&
        pending(base, ev))
        event_del(ev);
    return assign ? assign(ev, base, fd, events, callback, argument) : -1;
}
