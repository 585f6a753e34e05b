// The way to a job that has no server of ours on this host: a desk of our own (server-glue/desk/desk_server.h),
// or, to a job of another user, that user's, to which the gate of this host leads those whom the site's rules let
// (common/rendezvous/gate_door.h). It serves as long as this object lives. Its rendezvous file lies in a directory
// of ours, which goes with it. Where the rules do not give everything, but what a command takes, that user's desk runs
// the command (run_by_owner.h).
#pragma once

#include "common/base/unique_fd.h"
#include "common/rendezvous/asked_run.h"
#include "tools/view/held_directory.h"
#include "tools/view/server_list.h"
#include "tools/view/stop_asking.h"

#include <chrono>
#include <functional>
#include <optional>

namespace pmixhost {

// For a command that has no limit of its own.
inline constexpr std::chrono::seconds desk_patience{60};

class Desk {
  public:
    // Blocks, for `patience` at most. `job` is what the resource manager's users call it, or a namespace. Fails with
    // what the desk says: there is no such job (not_found), no pmixhost serves it (unsupported), it lets no tools of
    // this host in (denied), it was not reached (unreachable, timeout; timeout also when `stop` says so). Several may
    // be opened at once, in threads.
    static Result<Desk> open(const std::string &job, std::chrono::seconds patience, const StopAsking &stop = {});
    // The same for a job of that user. `run`: what the desk may run in place of that; null: nothing would do.
    static Result<Desk> visit(const std::string &job, uid_t owner, std::chrono::seconds patience,
                              const AskedRun *run = nullptr, const StopAsking &stop = {});
    // Our own, or where we have none of that job and it is another user's, that user's.
    static Result<Desk> reach(const std::string &job, std::chrono::seconds patience, const AskedRun *run = nullptr,
                              const StopAsking &stop = {});
    Desk(Desk &&other) noexcept;
    Desk &operator=(Desk &&) = delete;
    ~Desk();
    // Until the job ends, or something between here and there.
    bool serves() const;
    bool is_anothers() const { return pid_ < 0; }
    // It has no server for us, but is ready to run the command.
    bool runs_it() const { return runs_it_; }
    UniqueFd take_connection() { return std::move(life_); } // of one that does
    const ListedServer &server() const { return server_; }

  private:
    Desk() = default;
    Result<void> read_server();
    pid_t pid_ = -1; // of our own
    bool runs_it_ = false;
    UniqueFd life_;
    HeldDirectory directory_;
    ListedServer server_;
};

// The servers of this host that are the caller's. None for a command that this user's desk runs for another one: a desk
// of its own says so to the job's daemon.
std::vector<ListedServer> servers_here();

// The server that is meant, wherever it is.
struct FoundServer {
    ListedServer server;
    std::optional<Desk> desk;                               // keeps it there
    bool is_run() const { return desk && desk->runs_it(); } // there is none, but a desk that runs the command
};
// One server of the one step that `name` means (empty: the only job that is on this host): on this host if there is
// one, else by a desk. Fails (limit) where it means several steps, with the names of some, and as Desk::reach() does.
// `run`: see Desk::visit().
Result<FoundServer> find_server(const std::string &name, std::chrono::seconds patience, const AskedRun *run = nullptr,
                                const StopAsking &stop = {});
// The same for a job that may not have begun: looks again every four seconds for as long as `wait` while it is not
// there, is not served, or is not reached; until `stop` says so, which a signal may make it. `run` is given what is
// left of that time, as its option --wait.
Result<FoundServer> await_server(const std::string &name, std::chrono::seconds patience, std::chrono::seconds wait,
                                 const std::function<bool()> &stop, const AskedRun *run = nullptr);

// Why no debugger goes to a job that is reached by another user's desk, whatever the rules say.
Error not_for_others(const std::string &job);

} // namespace pmixhost
