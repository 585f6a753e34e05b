// A gdb that was started for its machine interface (GDB/MI), and how it ends: without leaving stopped what it had
// stopped. It reads no .gdbinit, and asks no server for symbols.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

using StackClock = std::chrono::steady_clock;
constexpr auto to_let_go = std::chrono::seconds(2);
constexpr auto to_be_killed = std::chrono::seconds(2);

// The environment for debuggers: this process' own without what changes what they load or whom they ask.
std::vector<std::string> debugger_environment();

// Which scripts gdb loads with a program and its libraries: those that show containers as what they hold, for one.
enum class GdbScripts : std::uint8_t {
    none,    // a look at stacks needs none, and each costs the time for which a process stands still
    trusted, // as gdb itself has it: from the directories of its safe path
};

class GdbProcess {
  public:
    // `gdb`: a path. `indexes`: a directory where it finds what other gdbs have made of debugging information, and puts
    // what it makes itself (gdb's index cache); empty: none. Fails as posix_spawn(3).
    static Result<GdbProcess> start(const std::string &gdb, const std::string &indexes = {},
                                    GdbScripts scripts = GdbScripts::none);
    GdbProcess(GdbProcess &&other) noexcept;
    GdbProcess &operator=(GdbProcess &&) = delete;
    // Ends gdb and what it has started: by the end of its input, at which it lets go of what it is attached to; by
    // force if it has not ended to_let_go later, and then that may stay stopped (LookedAt::put_right). Blocks until it
    // has ended, for to_let_go and to_be_killed at most: where the kernel does not let it end, nobody can wait for it.
    ~GdbProcess();

    // As Ctrl-C at its prompt: a command that is under way is given up, and a process that it lets run stops.
    void interrupt() const;
    void close_input() { to_.reset(); } // of several, before the first one is waited for
    // Ends it by force, and waits for nothing: of several, before the first one is destroyed. All that were killed at
    // one moment are waited for for to_be_killed together.
    void kill();
    int input() const { return to_.get(); } // does not block
    int output() const { return from_.get(); }
    // Is this gdb, or what it has started (where "gdb" is a script around it), the process?
    bool is_it(pid_t process) const;

    // Blocks for `patience` at most. It is not reaped.
    bool has_ended(std::chrono::milliseconds patience) const;

  private:
    GdbProcess(pid_t pid, UniqueFd to, UniqueFd from) : pid_(pid), to_(std::move(to)), from_(std::move(from)) {}
    pid_t pid_ = -1;
    UniqueFd to_, from_;
    std::optional<StackClock::time_point> killed_;
};

// Waits until all of them have ended, whose inputs are closed; those that have not by `until` are killed. What they
// write meanwhile is dropped: one whose pipe is full would not come to read the end of its input. They are destroyed
// behind this, in any order.
void end_all(const std::vector<GdbProcess *> &all, StackClock::time_point until);

} // namespace pmixhost
