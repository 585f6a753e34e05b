// The session (central_roles.h): what the steps of one allocation share. One process per allocation,
// started by the RM's backend when a daemon first wants it; ends when nobody has wanted anything for
// a while.
#pragma once

#include "common/loop/deadline_timer.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/event_messages.h"
#include "common/wire/publish_messages.h"
#include "common/wire/session_messages.h"
#include "common/wire/table_messages.h"
#include "server-glue/collective/session_collective.h"
#include "server-glue/control/session_control.h"
#include "server-glue/cross_job/step_finder.h"
#include "server-glue/daemon/central_server.h"
#include "server-glue/events/session_events.h"
#include "server-glue/publish/data_store.h"

#include <unordered_map>

namespace pmixhost {

class SessionServer final : private SessionEventsPort, private SessionControlPort {
  public:
    using CallSteps = std::function<void(const std::set<Bytes> &known, std::function<void(CalledSteps)> done)>;
    // `on_end` is called once, when the session has nothing more to do. `call_steps` calls those steps of the
    // allocation that are none of these namespaces (InvitationSource::call_steps).
    SessionServer(EventLoop &loop, Log &log, const Settings &settings, CentralServer::Authenticators authenticators,
                  std::function<void()> on_end, CallSteps call_steps);

    void on_invitation(std::string_view message) { peers_.on_invitation(message); }

  private:
    using StepId = CentralServer::StepId;
    struct Asker {
        StepId step;
        HostIndex host;
        std::uint64_t id; // of the asker's own
    };
    // SessionEventsPort
    bool send_event(StepId step, HostIndex host, SharedBytes payload) override {
        return peers_.send(step, host, wire::CrossJobEvent::type, std::move(payload));
    }
    void appoint(StepId step, HostIndex host) override {
        peers_.send(step, host, wire::StepDelegate::type, share(wire::encode(wire::StepDelegate{})));
    }
    std::size_t waiting_bytes(StepId step) override { return peers_.unsent_bytes(step); }
    void call_steps(const std::set<Bytes> &known) override { call_steps_(known, nullptr); }
    void dropped(const Bytes &nspace) override;
    // SessionControlPort
    std::map<Bytes, StepId> steps() override { return peers_.connected_steps(); }
    Bytes nspace_of(StepId step) override { return peers_.nspace_of(step); }
    std::vector<HostIndex> hosts_of(StepId step) override { return peers_.connected_hosts(step); }
    bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload) override {
        return peers_.send(step, host, type, std::move(payload));
    }
    void call_steps(const std::set<Bytes> &known, std::function<void(TimePoint, CalledSteps)> done) override;

    void on_session_collective_done(const SessionCollectives::Member &member, const wire::SessionCollectiveDone &done);
    void on_message(StepId step, HostIndex from, std::uint8_t type, const Bytes &payload);
    void on_gone(StepId step, HostIndex host, bool lost);
    void on_step_gone(StepId step);
    void forget_askers(StepId step, HostIndex host);
    void reply(const Asker &asker, std::int32_t status, std::vector<wire::Found> found);
    void arm_timer();
    void arm_idle();

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    std::function<void()> on_end_;
    CallSteps call_steps_;
    CentralServer peers_;
    DataStore store_;
    SessionCollectives collectives_;
    SessionEvents events_;
    SessionControl control_{*this};
    StepFinder finder_;
    std::set<Bytes> slow_; // namespaces of which the log says that they lose events
    struct Relayed {       // a question of one step to another
        std::uint8_t reply_type;
        Bytes (*refusal)(std::uint64_t id, std::int32_t status); // a reply that says no
        Asker asker;
        StepId asked;
        HostIndex asked_host;
        TimePoint deadline;
    };
    template <typename Request> void relay(StepId step, HostIndex from, Request message);
    template <typename Request> void relay(Relayed relayed, Request message);
    template <typename Reply> void relay_back(StepId step, Reply message);
    void refuse(const Relayed &relayed, std::int32_t status);
    std::map<std::uint64_t, Relayed> relayed_;                               // by our id
    std::map<std::uint64_t, Asker> askers_;                                  // of lookups, by our id
    std::map<std::pair<StepId, HostIndex>, std::set<std::uint64_t>> asking_; // the same by host
    std::map<std::pair<StepId, HostIndex>, Bytes> host_names_;               // of those that publish or look up
    std::uint64_t next_id_ = 1;
    DeadlineTimer timer_{loop_, [this] {
                             store_.on_time(loop_.now());
                             events_.on_time(loop_.now());
                             control_.on_time(loop_.now());
                             finder_.on_time(loop_.now());
                             arm_timer();
                         }};
    EventLoop::Handle idle_;
};

} // namespace pmixhost
