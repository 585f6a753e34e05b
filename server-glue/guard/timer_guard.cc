// Keeps a fault of libpmix 4.2.2 from stopping the daemon: it sets the timer of a collective that
// gives PMIX_TIMEOUT (groups, connect) once for each local participant, in one event that is
// pending by then. That breaks libevent's list of timers, and when the time is up libpmix' thread
// turns for ever (contrib/doc/decisions/libpmix.md). libevent asks for a pending event to be taken
// back first: that is what this function does, in libevent's name, for whoever forgets it. A
// library that does not is not affected.
//
// What it costs to look grows with the number of pending events, and takes the base's lock, so it looks
// only where there can be something: event_new() assigns to memory that it has just taken, which is no
// pending event. That leaves out all timers of event loops of this program, in whichever of its
// modules they were made.
//
// Who asks for it is also told here for which base events are assigned (assigned_base.h).
//
// Linked into pmixhostd itself: the dynamic linker prefers a program's functions to a library's.
#include "server-glue/guard/assigned_base.h"

#include <cstdint>
#include <dlfcn.h>
#include <event2/event.h>
#include <link.h>

namespace {

// The part of the address space that a loaded object's program text takes.
struct Text {
    std::uintptr_t with, begin = 0, end = 0;
    bool has(const void *address) const {
        auto at = reinterpret_cast<std::uintptr_t>(address);
        return at >= begin && at < end;
    }
};

// The text of the object that `address` is in.
Text text_around(const void *address) {
    Text text{reinterpret_cast<std::uintptr_t>(address)};
    dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *data) {
            auto *out = static_cast<Text *>(data);
            for (int i = 0; i < object->dlpi_phnum; ++i) {
                const auto &segment = object->dlpi_phdr[i];
                std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
                if (segment.p_type != PT_LOAD || out->with < begin || out->with >= begin + segment.p_memsz)
                    continue;
                out->begin = begin;
                out->end = begin + segment.p_memsz;
                return 1; // enough
            }
            return 0;
        },
        &text);
    return text;
}

// Is it event_new() that calls?
bool is_libevent(const void *caller) {
    static const Text libevent = text_around(dlsym(RTLD_NEXT, "event_new"));
    return libevent.has(caller);
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

extern "C" __attribute__((visibility("default"))) int event_assign(event *ev, event_base *base, evutil_socket_t fd,
                                                                   short events, event_callback_fn callback,
                                                                   void *argument) {
    using Assign = int (*)(event *, event_base *, evutil_socket_t, short, event_callback_fn, void *);
    static const auto assign = reinterpret_cast<Assign>(dlsym(RTLD_NEXT, "event_assign"));
    pmixhost::AssignedBase::note(base);
    // Only for a timer. The memory may never have been an event, so only its address is looked at.
    if (base && fd == -1 && (events & (EV_READ | EV_WRITE | EV_SIGNAL)) == 0 &&
        !is_libevent(__builtin_return_address(0)) && pending(base, ev))
        event_del(ev);
    return assign ? assign(ev, base, fd, events, callback, argument) : -1;
}
