// The session (central_roles.h): what the steps of one allocation share. One process per allocation,
// started by the RM's backend when a daemon first wants it; ends when nobody has wanted anything for
// a while. Makes the services (session/session_service.h), and brings them the steps' messages and the time.
#pragma once

#include "common/loop/deadline_timer.h"
#include "server-glue/collective/session_joins.h"
#include "server-glue/control/session_control.h"
#include "server-glue/cross_job/session_relay.h"
#include "server-glue/daemon/central_server.h"
#include "server-glue/events/session_events.h"
#include "server-glue/publish/session_publish.h"

namespace pmixhost {

class SessionServer final : private SessionPeers {
  public:
    using CallSteps = std::function<void(const std::set<Bytes> &known, std::function<void(CalledSteps)> done)>;
    // `on_end` is called once, when the session has nothing more to do. `call_steps` calls those steps of the
    // allocation that are none of these namespaces (InvitationSource::call_steps).
    SessionServer(EventLoop &loop, Log &log, const Settings &settings, CentralServer::Authenticators authenticators,
                  std::function<void()> on_end, CallSteps call_steps);

    void on_invitation(std::string_view message) { peers_.on_invitation(message); }

  private:
    // SessionPeers
    std::map<Bytes, StepId> steps() const override { return peers_.connected_steps(); }
    StepId step_of(const Bytes &nspace) const override { return peers_.step_of(nspace); }
    std::vector<HostIndex> hosts_of(StepId step) const override { return peers_.connected_hosts(step); }
    Bytes nspace_of(StepId step) const override { return peers_.nspace_of(step); }
    bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload) override {
        return peers_.send(step, host, type, std::move(payload));
    }
    std::size_t waiting_bytes(StepId step, HostIndex host) const override { return peers_.queued_bytes(step, host); }
    void call_steps(const std::set<Bytes> &known, std::function<void(TimePoint, CalledSteps)> done) override;

    CentralServer::Callbacks callbacks();
    SessionMember member(StepId step, HostIndex host) const { return {step, host, peers_.nspace_of(step)}; }
    void tell_slow(const Bytes &nspace);
    void arm_idle();
    template <typename Hook> void tell_services(Hook hook) {
        for (SessionService *each : services)
            hook(*each);
    }

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    std::function<void()> on_end_;
    CallSteps call_steps_;
    CentralServer peers_;
    std::set<Bytes> slow_; // namespaces of which the log says that they lose events
    SessionEvents events_;
    SessionControl control_;
    SessionJoins joins_;
    SessionRelay relay_;
    SessionPublish publish_;
    SessionMessages messages_;
    DeadlineTimer timer_;
    EventLoop::Handle before_waiting_, idle_;
};

} // namespace pmixhost
