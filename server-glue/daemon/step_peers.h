// The other daemons of a step, the session and the launcher, as a step's daemon hears them: their messages go to the
// service that takes them, their going to all; and how a connection to them is asked for.
#pragma once

#include "server-glue/daemon/step_services.h"
#include "server-glue/step/step_messages.h"

namespace pmixhost {

class StepPeers {
  public:
    // `services` may be filled later; it gets what comes.
    StepPeers(StepContext &context, StepServices &services)
        : context_(context), services_(services), messages_(context.log) {}

    // Begins to listen, and fills in StepContext::mesh. Fails as Mesh::create() does.
    Result<void> open();
    // What the backend brings: a contact message of another daemon, or the session's call.
    void on_contact(const std::string &message);

  private:
    void on_message(HostIndex from, std::uint8_t type, Bytes payload);
    void on_gone(HostIndex peer, Mesh::Gone how, const Error &why);
    void leave_session();
    void tell_unreachable(HostIndex peer, const Error &why);
    void send_contact(HostIndex peer, Bytes message, TimePoint deadline, std::function<void(Result<void>)> done);

    StepContext &context_;
    StepServices &services_;
    StepMessages messages_;
    std::unique_ptr<Mesh> mesh_;
    bool told_unreachable_ = false;
};

} // namespace pmixhost
