// The session (central_roles.h): what the steps of one allocation share. One process per allocation,
// started by the RM's backend when a daemon first wants it; ends when nobody has wanted anything for
// a while.
#pragma once

#include "common/deadline_timer.h"
#include "server-glue/central_server.h"
#include "server-glue/data_store.h"
#include "server-glue/gathering.h"

#include <unordered_map>

namespace pmixhost {

class SessionServer {
  public:
    // `on_end` is called once, when the session has nothing more to do.
    SessionServer(EventLoop &loop, Log &log, const Settings &settings,
                  CentralServer::Authenticators authenticators, std::function<void()> on_end);

    void on_invitation(std::string_view message) { peers_.on_invitation(message); }

  private:
    using StepId = CentralServer::StepId;
    struct Asker {
        StepId step;
        HostIndex host;
        std::uint64_t id; // of the asker's own
    };
    void on_message(StepId step, HostIndex from, std::uint8_t type, const Bytes &payload);
    void on_gone(StepId step, HostIndex host);
    void on_step_gone(StepId step);
    void relay(StepId step, HostIndex from, const wire::ModexRequest &message);
    void relay_back(StepId step, wire::ModexReply message);
    void forget_askers(StepId step, HostIndex host);
    void reply(const Asker &asker, std::int32_t status, std::vector<wire::Found> found);
    void arm_timer();
    void arm_idle();

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    std::function<void()> on_end_;
    CentralServer peers_;
    DataStore store_;
    Gatherings gatherings_;
    struct Relayed { // a direct modex between steps
        Asker asker;
        StepId asked;
        HostIndex asked_host;
        TimePoint deadline;
    };
    std::map<std::uint64_t, Relayed> relayed_; // by our id
    std::map<std::uint64_t, Asker> askers_; // of lookups, by our id
    std::map<std::pair<StepId, HostIndex>, std::set<std::uint64_t>> asking_; // the same by host
    std::map<std::pair<StepId, HostIndex>, Bytes> host_names_; // of those that publish or look up
    std::uint64_t next_id_ = 1;
    DeadlineTimer timer_{loop_, [this] {
                             store_.on_time(loop_.now());
                             arm_timer();
                         }};
    EventLoop::Handle idle_;
};

} // namespace pmixhost
