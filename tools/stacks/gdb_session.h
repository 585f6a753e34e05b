// A gdb that is told what to do line by line (GDB/MI). It reads no file of the user's or the program's that could make
// it do anything (.gdbinit, scripts in libraries), and asks no server for symbols.
#pragma once

#include "common/base/unique_fd.h"
#include "tools/stacks/gdb_text.h"

#include <atomic>
#include <chrono>
#include <string>
#include <sys/types.h>

namespace pmixhost {

using StackClock = std::chrono::steady_clock;
constexpr auto to_let_go = std::chrono::seconds(2);
constexpr auto to_be_killed = std::chrono::seconds(2);

// An answer, and what gdb wrote for people until then (at most 1 MiB).
struct GdbAnswer {
    nlohmann::json values;
    std::string text;
};

// The environment for debuggers: this process' own without what changes what they load or whom they ask.
std::vector<std::string> debugger_environment();

class GdbSession {
  public:
    // `gdb`: a path. `over`: once it is true, nothing is waited for any more. Fails as posix_spawn(3).
    static Result<GdbSession> start(const std::string &gdb, const std::atomic<bool> &over);
    GdbSession(GdbSession &&other) noexcept;
    GdbSession &operator=(GdbSession &&) = delete;
    // Ends gdb and what it has started: by the end of its input, at which it lets go of what it is attached to; by force
    // if it has not ended to_let_go later, and then that may stay stopped (LookedAt::put_right). Blocks until it has
    // ended, for to_let_go and to_be_killed at most: where the kernel does not let it end, nobody can wait for that.
    ~GdbSession();

    // Blocks. Fails: invalid (gdb says no: its words), unreachable (it has ended), timeout, limit (it says too much).
    // After anything but the first it is of no use any more.
    Result<GdbAnswer> ask(const std::string &command, StackClock::time_point deadline);
    // As ask(), a command of gdb's ordinary language.
    Result<GdbAnswer> console(const std::string &command, StackClock::time_point deadline);
    bool usable() const { return usable_; }
    // Is this gdb, or what it has started (where "gdb" is a script around it), the process?
    bool is_it(pid_t process) const;

  private:
    GdbSession(pid_t pid, UniqueFd to, UniqueFd from, const std::atomic<bool> &over)
        : pid_(pid), to_(std::move(to)), from_(std::move(from)), over_(&over) {}
    bool has_ended(std::chrono::milliseconds patience) const; // it is not reaped
    Error broken(Error why);
    Result<std::string> line(StackClock::time_point deadline);
    pid_t pid_ = -1;
    UniqueFd to_, from_;
    const std::atomic<bool> *over_;
    std::string begun_;
    unsigned next_token_ = 1;
    bool usable_ = true;
};

} // namespace pmixhost
