// Processes whose debugger was ended by force. The kernel lets a process go when its tracer ends; but the stop by which
// the tracer was about to take hold of it, which it had not yet taken notice of, is then the process' own, and nobody
// would end it. Here each of them runs on. In the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/rendezvous/debugger_door.h"

#include <deque>
#include <functional>
#include <utility>

namespace pmixhost {

class LeftStopped {
  public:
    // A tracer that is there for longer is taken for another one, in whose hands a process may be.
    static constexpr Duration patience = std::chrono::minutes(1);

    // `is_paused`: stands that process because a tool has paused it? It is the tool's to let it go on.
    LeftStopped(EventLoop &loop, Log &log, std::function<bool(pid_t)> is_paused)
        : loop_(loop), log_(log), is_paused_(std::move(is_paused)) {}

    // Of that very process, whose pid cannot be given away then. Empty: it has ended, or the process has no descriptor
    // left.
    static UniqueFd open(const HeldProcess &process);

    // Lets it go on as soon as nobody traces it, and looks until it does run. `pidfd`: open(); the process has had no
    // stop of its own before. One that is let run already is so once.
    void let_run(const HeldProcess &process, UniqueFd pidfd);
    std::size_t count() const { return left_.size(); } // each has a descriptor
    void forget_ended();

  private:
    struct One {
        HeldProcess process;
        UniqueFd pidfd;
        TimePoint until;
        bool told = false;  // to go on, with nobody who traces it
        unsigned quiet = 0; // so often it was seen to run since
    };
    void look();
    bool runs_on(One &one, std::size_t &threads); // or nothing more can be done for it; `threads`: as is_to_stop()

    EventLoop &loop_;
    Log &log_;
    std::function<bool(pid_t)> is_paused_;
    std::deque<One> left_;
    EventLoop::Handle timer_;
};

} // namespace pmixhost
