// The PMIx server that a debugger connects to, as far as libpmix goes: PMIx_server_init connects back to the debugger
// (PMIX_LAUNCHER_RNDZ_URI) and returns when the debugger lets go (PMIX_DEBUGGER_RELEASE); the debugger then takes this
// process for its server. Nobody else can connect: the socket on which libpmix would listen is closed.
//
// A launcher without a program does not wait to be let go: it serves the debugger at once, while PMIx_server_init
// waits, perhaps for good.
//
// One for a process. Upcalls only copy and post. All else in the loop's thread; calls of libpmix in two threads of
// their own, since the first one takes as long as the debugger likes.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/guard/listener_takeover.h"
#include "server-glue/indirect/launch_wishes.h"
#include "server-glue/indirect/side_messages.h"
#include "server-glue/library/library_thread.h"

#include <atomic>
#include <functional>
#include <set>

namespace pmixhost::indirect {

class DebuggerServer {
  public:
    // What a call or an input is answered with, once.
    using Reply = std::function<void(const Answer &answer)>;
    struct Events {
        std::function<void()> on_works;                        // once: the debugger can be told something
        std::function<void(Result<LaunchWishes>)> on_released; // once; or why there is to be no job
        std::function<void(Call call, Reply reply)> on_call;   // without an id
        std::function<void(Notify event)> on_notify;           // for processes of the job
        std::function<void(Listen codes)> on_listen;
        std::function<void(Bytes bytes, bool last, Reply reply)> on_input; // for the launcher
        std::function<void(int signal, Reply reply)> on_signal;            // likewise
        std::function<void()> on_debugger_gone;                            // may come more than once
    };
    // `nspace` and `rank`: what the debugger calls this process. `directory`: where libpmix has its files, whatever the
    // debugger's environment says; who is killed leaves them there. `serves`: at once. Fails (limit, system).
    static Result<std::unique_ptr<DebuggerServer>> start(EventLoop &loop, std::string nspace, std::uint32_t rank,
                                                         const std::string &directory, bool serves, Events events);
    ~DebuggerServer();
    DebuggerServer(const DebuggerServer &) = delete;

    // Once on_works has come. To handlers for this code alone, also to those that are registered later.
    void tell(Heard event);
    // What a process wrote that the debugger has spawned; likewise.
    void deliver(Output output);
    // Does it take what the debugger asks of the job? Any thread.
    bool is_released() const { return serves_ || released_; }
    // Would the library leave a query that is refused without an answer? Then it has found nothing.
    bool loses_refusals() const { return loses_refusals_; }
    // Ends libpmix when what was told has gone out; `done` comes in any case, a few seconds later at most.
    void end(std::function<void()> done);

  private:
    DebuggerServer(EventLoop &loop, std::string nspace, std::uint32_t rank, bool serves, Events events)
        : loop_(loop), nspace_(std::move(nspace)), rank_(rank), serves_(serves), events_(std::move(events)) {}
    friend struct Upcalled;
    void await_start();
    void ended();

    EventLoop &loop_;
    const std::string nspace_;
    const std::uint32_t rank_;
    const bool serves_;
    Events events_;
    std::unique_ptr<ListenerTakeover> takeover_;
    std::unique_ptr<LibraryThread> first_, calls_;
    EventLoop::Handle patience_;
    std::function<void()> done_; // of end()
    std::atomic<bool> released_ = false, loses_refusals_ = true;
    std::set<std::string, std::less<>> children_; // that were spawned; in libpmix' thread
    bool works_ = false;
};

} // namespace pmixhost::indirect
