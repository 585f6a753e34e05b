// What a desk of the gate (gate_desk.h) does with tools whose user has no job: each gets a lobby, a pmixhostd of the
// user beside the desk, which has libpmix and no processes, and may start jobs in allocations that the tool names or
// asks for (spawn/spawn_places.h). The desk relays the tool to it as to a daemon of a job: the lobby dials the desk,
// and asks the rules. It ends with its tool, after it has given back what is to be given back. What does not end is
// killed, and until then counts: its user can stop it.
//
// All in the loop's thread; nothing blocks.
#pragma once

#include "common/loop/slow_calls.h"
#include "server-glue/desk/desk_server.h"

#include <algorithm>
#include <map>
#include <sys/types.h>

namespace pmixhost {

struct DeskTool {
    UniqueFd fd;
    std::string address = {}; // of one on another host, in numbers
    Bytes first = {};         // what was read of that one
};

class DeskLobbies {
  public:
    static constexpr std::size_t most = 4; // tools: each has a process with libpmix, with its launcher and sruns
    static constexpr std::size_t most_processes = 2 * most; // also of those whose tools have gone
    struct Start {
        EventLoop &loop;
        Log &log;
        const Settings &settings;
        std::string backend;                                 // its name
        std::string program;                                 // pmixhostd
        std::function<void(const std::string &why)> refused; // for the gate's log: a tool, once
        // Likewise: what a lobby has to say to its user, such as why it does not spawn. As many lines as it likes.
        std::function<void(const std::string &what)> tells;
        std::function<std::unique_ptr<Authenticator>()> authenticator = nullptr; // null: with munge
        Duration leave_patience = std::chrono::minutes(1); // for one to end: it may wait for the RM, and for its peers
    };
    explicit DeskLobbies(Start start) : start_(std::move(start)), cleaners_(start_.loop, most_cleaned) {}
    DeskLobbies(const DeskLobbies &) = delete;

    void take(DeskTool tool);
    // As long as any is here there is something to wait for.
    std::size_t size() const { return std::max(lobbies_.size(), processes_.size()); }
    // Lets those go whose tools have gone.
    void tidy();

  private:
    using Id = std::uint64_t;
    struct Lobby {
        std::shared_ptr<UniqueFd> channel; // its end is that of the lobby
        std::unique_ptr<DeskServer> server;
        DeskTool tool;
        bool taken = false;
        EventLoop::Handle watch;
    };
    struct Process {
        pid_t pid = -1;
        UniqueFd pidfd;
        std::string directory; // which it removes, unless it is killed
        EventLoop::Handle watch;
        EventLoop::Handle patience{}; // once it was let go
    };
    Result<UniqueFd> start_process(Id id);
    static constexpr std::size_t most_cleaned = 64;
    void on_ended(Id id);
    Result<void> open(Id id);
    void serve(Id id);
    void hear(Id id);
    void drop(Id id, const std::string &why);
    void await_end(Id id); // of one that was let go

    Start start_;
    std::map<Id, Lobby> lobbies_;
    std::map<Id, Process> processes_; // also of those that have been let go, until they have ended
    Id next_ = 1;
    SlowCalls cleaners_;
};

} // namespace pmixhost
