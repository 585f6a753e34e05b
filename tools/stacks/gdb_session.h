// A gdb that is told what to do line by line, and is waited for: for a look that is over soon.
#pragma once

#include "tools/stacks/gdb_process.h"
#include "tools/stacks/gdb_text.h"

#include <atomic>

namespace pmixhost {

// An answer, and what gdb wrote for people until then (at most 1 MiB).
struct GdbAnswer {
    nlohmann::json values;
    std::string text;
};

class GdbSession {
  public:
    // `gdb`: a path. `over`: once it is true, nothing is waited for any more. Fails as posix_spawn(3).
    static Result<GdbSession> start(const std::string &gdb, const std::atomic<bool> &over);
    // Blocks. Fails: invalid (gdb says no: its words), unreachable (it has ended), timeout, limit (it says too much).
    // After anything but the first it is of no use any more.
    Result<GdbAnswer> ask(const std::string &command, StackClock::time_point deadline);
    // As ask(), a command of gdb's ordinary language.
    Result<GdbAnswer> console(const std::string &command, StackClock::time_point deadline);
    bool usable() const { return usable_; }
    // Is this gdb, or what it has started (where "gdb" is a script around it), the process?
    bool is_it(pid_t process) const { return process_.is_it(process); }

  private:
    GdbSession(GdbProcess process, const std::atomic<bool> &over) : process_(std::move(process)), over_(&over) {}
    Error broken(Error why);
    Result<std::string> line(StackClock::time_point deadline);
    GdbProcess process_;
    const std::atomic<bool> *over_;
    std::string begun_;
    unsigned next_token_ = 1;
    bool usable_ = true;
};

} // namespace pmixhost
