// What a capability of a step's daemon hears. A capability is one class in a folder of its own that owns all of
// its state; the server of the step (step_server.h) tells each what happens, in the order in which they were made, and
// asks each before it waits when its next time is. Each enters itself in the list of those who are told, so none can be
// forgotten, and a new one touches its own folder and one line of wiring.
//
// All in the loop's thread.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/wire/event_messages.h"
#include "server-glue/core/signature.h"
#include "server-glue/library/info_list.h"

#include <optional>
#include <vector>

namespace pmixhost {

class StepMessages;
class UpcallHandlers;

class StepService {
  public:
    // `all`: StepContext::services, of which nobody is told anything after one of them has gone.
    explicit StepService(std::vector<StepService *> &all) { all.push_back(this); }
    StepService(const StepService &) = delete;
    virtual ~StepService() = default;
    // Which requests of libpmix it takes (library/upcall_handlers.h); once, before anything else.
    virtual void take_asks(UpcallHandlers &) {}
    // Which messages of the other daemons; likewise.
    virtual void take_messages(StepMessages &) {}
    // It is known where tools and clients connect (StepContext::library_address).
    virtual void on_address() {}
    // The library is up (StepContext::library); from now on there are upcalls.
    virtual void on_library() {}

    // When on_time() is due next; asked whenever the daemon is about to wait. TimePoint::max(): never.
    virtual TimePoint next_time() const { return TimePoint::max(); }
    virtual void on_time(TimePoint) {}

    // A process of this host has ended; with its wait status, if that is known.
    virtual void on_process_gone(Rank, std::optional<int> /* wait_status */) {}
    // Another host of the step. `left`: in order; otherwise it is lost.
    virtual void on_host_gone(HostIndex, bool /* left */) {}
    // Ends of processes of the step, which are told to every host: in disorder, or with a host that was lost; and in
    // order.
    virtual void on_bad_ends(const wire::HostReport &) {}
    virtual void on_normal_exits(const wire::NormalExits &) {}
    // PMIx_Job_control is about to send a signal to a process of this host.
    virtual void on_signalling(Rank, int /* signal */) {}
    // It has; or its pause is over (debug/release.h), where
    // nothing was sent yet.
    virtual void on_signalled(Rank, int /* signal */) {}
    // An event that processes notify: one of this host, or brought by another daemon; or that another daemon, or this
    // one, tells. What only hosts say (only_hosts_say()) comes only of these. wants_event() is asked first, because the
    // event's information must be unpacked for on_event().
    virtual bool wants_event(pmix_status_t, const Bytes & /* source namespace */) const { return false; }
    virtual void on_event(pmix_status_t, const Process & /* source */, const InfoList &) {}
    // There is a connection with the session: what was queued for it has been sent. Only sends from within.
    virtual void on_session_here() {}
    virtual void on_session_gone() {}
    virtual void on_launcher_gone() {}

    // How a daemon leaves (daemon/step_ending.h). All tasks of this host have ended at that time: is what they wrote
    // still to be handed on? Asked again until nobody says so.
    virtual bool holds_end(TimePoint /* ended */) { return false; }
    // The daemon begins to leave. `badly`: with an error, or after a task that ended with one, in a job that does not
    // go on then.
    virtual void on_leaving(bool /* badly */) {}
    // Others wait for something that has not left this host; asked again for some seconds, each time before the loop
    // waits. So whatever ends it has to wake the loop: a message, a call's answer, a timer (next_time()).
    virtual bool has_unsent() { return false; }
    // The last moment: answers what still waits here, with an error. No upcall comes after.
    virtual void drop_all() {}
};

} // namespace pmixhost
