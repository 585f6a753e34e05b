// What a capability of the session hears: the counterpart of a step's (step/step_service.h), for what the steps of an
// allocation share. One class in its capability's folder owns all of the state, and enters itself in the list of
// those whom the server of the session (daemon/session_server.h) tells what happens.
//
// All in the loop's thread.
#pragma once

#include "server-glue/core/message_takers.h"
#include "server-glue/session/session_peers.h"

namespace pmixhost {

// A host of a step, which a message came from or which has gone.
struct SessionMember {
    SessionPeers::StepId step = 0;
    HostIndex host = 0;
    Bytes nspace; // the step's
};

// Takers are told when it is and who sent the message.
using SessionMessages = MessageTakers<TimePoint, const SessionMember &>;

class SessionService {
  public:
    // `all`: SessionPeers::services, of which nobody is told anything after one of them has gone.
    explicit SessionService(std::vector<SessionService *> &all) { all.push_back(this); }
    SessionService(const SessionService &) = delete;
    virtual ~SessionService() = default;
    // Which messages of the steps it takes; once, before anything else.
    virtual void take_messages(SessionMessages &) {}
    // A host has said something, whatever it was; before that is handed to who takes it.
    virtual void heard(TimePoint, const SessionMember &) {}

    // When on_time() is due next; asked whenever the session is about to wait. TimePoint::max(): never.
    virtual TimePoint next_time() const { return TimePoint::max(); }
    virtual void on_time(TimePoint) {}

    // A host's connection has ended; it has none any more. `lost`: it did not leave in order. When hosts go together
    // with the step's last one, it may not come for each of them.
    virtual void on_host_gone(TimePoint, const SessionMember &, bool /* lost */) {}
    // The step's last host has gone.
    virtual void on_step_gone(TimePoint, SessionPeers::StepId, const Bytes & /* nspace */) {}

    // Nothing is kept here that a step which comes later could want: the session may end.
    virtual bool idle() const { return true; }
};

} // namespace pmixhost
