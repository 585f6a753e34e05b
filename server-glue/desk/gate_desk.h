// A desk of the gate: a pmixhostd that runs as a user, and to which the gate (server-glue/gate) hands the connections
// of the user's tools. It finds the step that they are for (tool_access/step_choice.h), and relays each to a daemon of
// it, as a desk that was started for one step does (desk_server.h). It contains no libpmix.
//
// While the resource manager does not say which steps run, a step to which there is a way is taken all the same.
//
// Of a tool on another host it finds out itself whose it is (remote_tools.h).
//
// A tool whose user has no step gets a lobby (desk_lobbies.h), where the site has them (gate.spawn). Otherwise a
// connection for which no step is found is closed, and the gate is told why. Other users who may come to a job of
// this one come to visit (desk_visits.h), or have a command run (desk_runs.h). All in the loop's thread.
#pragma once

#include "common/base/rate_limit.h"
#include "common/loop/slow_calls.h"
#include "common/peer/socket_owner.h"
#include "common/process/program_beside.h"
#include "server-glue/desk/desk_lobbies.h"
#include "server-glue/desk/desk_runs.h"
#include "server-glue/desk/desk_server.h"
#include "server-glue/desk/desk_visits.h"
#include "server-glue/desk/remote_tools.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/tool_access/step_choice.h"

#include <deque>
#include <map>
#include <set>

namespace pmixhost {

class GateDesk {
  public:
    struct Start {
        EventLoop &loop;
        Log &log;
        const Settings &settings;
        UniqueFd channel; // to the gate: server-glue/gate/desk_channel.h
        const BackendModule &module;
        std::function<void()> on_end; // the gate has gone, or wants no desk any more
        std::string pmixhost = pmixhost_path();
        std::string pmixhostd = program_beside("pmixhostd");
        std::function<std::unique_ptr<Authenticator>()> authenticator = nullptr; // to steps; null: with munge
    };
    // What keeps it from serving, the gate is told as well.
    static Result<std::unique_ptr<GateDesk>> open(Start start);
    GateDesk(const GateDesk &) = delete;

  private:
    struct Tool {
        DeskTool connection;
        TimePoint deadline;
    };
    GateDesk(Start start, SocketOwners owners);
    void on_gate();
    void take(UniqueFd tool);
    void take_in(Tool tool);
    void find_step();
    void on_steps(const Result<std::vector<std::string>> &steps);
    std::set<std::string> busy_steps() const; // of which tools are connected
    void call_steps();
    void open_step(const std::string &step);
    void settle();
    bool settle_without_list();
    void serve(const Result<std::string> &choice);
    bool has_lobbies() const;
    void refuse_all(const std::string &why);
    void tell(const std::string &what);
    void before_waiting();

    Start start_;
    SocketOwners owners_;
    std::deque<Tool> tools_; // that wait
    StepChoice choice_;
    std::map<std::string, std::unique_ptr<DeskServer>> servers_;
    std::map<std::uint64_t, std::unique_ptr<DeskServer>> ending_; // whose tools have still to read what came
    std::uint64_t next_server_ = 1;
    DeskVisits visits_;
    DeskRuns runs_;
    DeskLobbies lobbies_;
    RemoteTools remote_;
    bool listing_ = false;
    TimePoint listed_{};                                        // when the list came, or could not be had
    std::uint64_t given_ = 0, taken_told_ = 0, quiet_told_ = 0; // connections
    EventLoop::Handle watch_, before_waiting_, timer_, again_;
    RateLimit lines_{20};
    SlowCalls calls_;
};

} // namespace pmixhost
