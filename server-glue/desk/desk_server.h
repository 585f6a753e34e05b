// The desk: a pmixhostd that runs as a user on a host where the user's job has no daemon, a login host say, and serves
// one running step to the user's tools there. It contains no libpmix: it calls a daemon of the step through the RM,
// proves to be of the same user, writes a rendezvous file, and relays what tools and that daemon's server say to each
// other (tool_access/step_desks.h). What tools may do, the daemon decides.
// Where it is for tools of another user (`asker`), or does what another one has asked for (`asked_by`), the daemon asks
// the rules for that one.
//
// All in the loop's thread but `call_step`.
#pragma once

#include "common/base/rate_limit.h"
#include "common/loop/slow_calls.h"
#include "common/peer/socket_owner.h"
#include "common/rendezvous/asked_run.h"
#include "common/transport/mesh.h"
#include "server-glue/tool_access/relay.h"

#include <optional>

namespace pmixhost {

class DeskServer {
  public:
    struct Start {
        EventLoop &loop;
        Log &log;
        const Settings &settings;
        std::unique_ptr<Authenticator> authenticator;
        // Tells those who may know where tools find it, in the text of a rendezvous file. Empty: they know, or tools
        // are handed over.
        std::function<Result<void>(const std::string &rendezvous)> tell;
        UniqueFd listener; // that they know; empty: a new one; without `tell` none
        // Brings a message to a daemon of the step. Blocks, in a thread, and owns all that it uses.
        std::function<Result<void>(const std::string &message)> call_step;
        std::function<void(const std::string &nspace)> on_serving; // they have been told
        // Once, never from within: what keeps it from serving, or does not let it go on. The object may be destroyed.
        std::function<void(Error)> on_end;
        std::optional<uid_t> asker = std::nullopt;      // whose tools they are; nothing: this process' user's
        std::optional<AskedBy> asked_by = std::nullopt; // what they do, when they are this process' user's
        // Before on_end, once, never from within: nobody is taken any more, and some may still have to read what came.
        std::function<void(const Error &)> on_ending = nullptr;
    };
    static Result<std::unique_ptr<DeskServer>> open(Start start);
    DeskServer(const DeskServer &) = delete;
    // A connection of such a tool, once it serves. False: too many are connected, and this one is closed.
    bool take_tool(UniqueFd fd);
    // The same of a tool on another host, by its address (in numbers), of which `ahead` was read already.
    bool take_remote_tool(UniqueFd fd, const std::string &address, Bytes ahead);
    std::size_t tools() const { return relay_->size(); } // that are connected
    // Whoever started it has gone. Those that are connected get what the daemon says last, as long as it is there, for
    // three seconds at most, and what has come by then is handed on (relay.h); then, or at once where there are none,
    // it ends (on_end). Nobody comes any more.
    void leave();
    // The job is over: what came is still handed on, and nobody comes any more.
    bool is_ending() const { return is_ending_; }

  private:
    DeskServer(Start start, SocketOwners owners)
        : start_(std::move(start)), owners_(std::move(owners)), calls_(start_.loop, 4) {}
    void call(Bytes contact, TimePoint deadline, std::function<void(Result<void>)> done);
    void on_message(std::uint8_t type, const Bytes &payload);
    Result<void> serve(const wire::DeskGreeting &greeting);
    Result<void> take_tools(UniqueFd listener, const std::string &nspace);
    uid_t tools_user() const;
    bool is_full() const { return relay_->size() >= start_.settings.tools_max_connections; }
    void await_greeting();
    void watch_tools();
    void accept();
    void admit_nobody();
    void end(Error why);

    Start start_;
    SocketOwners owners_;
    Bytes key_;
    std::unique_ptr<Mesh> mesh_;
    std::unique_ptr<Relay> relay_;
    UniqueFd listener_;
    EventLoop::Handle watch_, patience_;
    bool called_ = false, serves_ = false, leaves_ = false, is_ending_ = false;
    std::uint64_t next_id_ = 1;
    RateLimit refused_;
    SlowCalls calls_;
};

} // namespace pmixhost
