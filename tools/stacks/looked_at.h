// A process of a job that is about to be looked at by a debugger: is it the right one, and it is left as it was.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/process/process_stat.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

// The clock ticks since the machine was started, now.
std::uint64_t ticks_now();

// Who the resource manager's daemon has said that it is.
struct ExpectedProcess {
    std::string nspace;
    std::uint32_t rank = 0;
    pid_t pid = 0;
    std::uint64_t asked = 0;  // ticks_now() before the daemon was asked
    bool on_this_host = true; // that it is on this host is certain
};

class LookedAt {
  public:
    // Fails with a text for the user: not_found (it has ended, or its pid is another one's now), denied (it is another
    // user's, or traced by somebody else).
    static Result<LookedAt> find(const ExpectedProcess &expected);

    // A process that a debugger has hold of already, as a child that it has followed; `is_debugger` is asked of its
    // tracer. Fails (not_found) where another one has its pid now, or it has ended.
    static Result<LookedAt> held(pid_t pid, const std::function<bool(pid_t)> &is_debugger);

    // The process whose calls are of interest: where the task is a script or the like that waits for its only child,
    // which is of the same rank, that child; so also where it is the rank's agent (PMIX_FORKEXEC_AGENT), which does not
    // say itself of whom it is.
    pid_t pid() const { return pid_; }
    // By a signal, when it was found, or when this was called last: call it right before a debugger stops it.
    bool see_whether_stopped();
    // It is about to stop for this debugger (common/process/exec_stop.h), and put_right() lets it run on. False: it has
    // not, in that time, or has ended.
    bool await_own_stop(std::chrono::milliseconds patience);
    // It goes on; or, once a debugger has it: what it had stopped by does not stop it again when it runs.
    void take_stop_back() const;
    bool was_stopped() const { return was_stopped_; }
    pid_t tracer() const;     // who traces it now; 0: nobody, or it cannot be told
    bool still_there() const; // the pid is still its own
    // It stops, and the debugger that traces it is told why. Not by SIGINT: one that came to the process when its
    // debugger has let go would end it, and this one is undone by put_right().
    void interrupt() const;
    // Once the debugger has come to grief and has been ended: what it has left stopped runs on, and what was stopped
    // before stays so. Nothing, and false, where somebody traces it still, five seconds later. Else blocks for some
    // milliseconds.
    bool put_right() const;

  private:
    LookedAt(pid_t pid, UniqueFd pidfd, bool was_stopped)
        : pid_(pid), pidfd_(std::move(pidfd)), was_stopped_(was_stopped) {}
    pid_t pid_;
    UniqueFd pidfd_;
    bool was_stopped_;
};

// The files that a process has mapped as code, for loading their symbols beforehand; none where it cannot be told.
std::vector<std::string> code_files(pid_t pid);

} // namespace pmixhost
