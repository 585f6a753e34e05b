// The way from `pmixhost debug` to its parts on the hosts: a program (srun) whose input they all read, and whose output
// is what they say.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "tools/debug/debug_lines.h"

#include <chrono>
#include <functional>

namespace pmixhost {

class DebugLink {
  public:
    // Fails as posix_spawn(3).
    static Result<DebugLink> open(const std::vector<std::string> &words);
    DebugLink(DebugLink &&other) noexcept;
    DebugLink &operator=(DebugLink &&) = delete;
    // Tells all to let go, and waits until they have, for `to_leave` (read_stacks.h) at most. Calls what is for parts
    // that could not.
    ~DebugLink();
    // Called at the end where the program, or a part of it, has been ended by force after it had spoken.
    void when_forced(std::function<void()> act) { forced_ = std::move(act); }

    // False: nobody is there any more.
    bool say(const ToHost &message);
    // What has been said, after a wait of at most `patience`; a signal ends the wait.
    std::vector<FromHost> hear(std::chrono::milliseconds patience);
    // Waits until something has come, which hear() gives then, or the program is gone; `patience` at most.
    void await_first_word(std::chrono::milliseconds patience) { take(patience); }
    bool has_spoken() const { return !begun_.empty(); }
    bool is_open() const { return static_cast<bool>(from_); }
    int fd() const { return from_.get(); }
    // Once it is not open: the program's exit code.
    int exit_code();
    // The end of what the program has complained of, at most 4 KiB: for when it fails.
    const std::string &complaints() const { return complaints_; }

  private:
    DebugLink(pid_t pid, UniqueFd to, UniqueFd from, UniqueFd errors)
        : pid_(pid), to_(std::move(to)), from_(std::move(from)), errors_(std::move(errors)) {}
    void take_complaints();
    void take_answers(); // what there is to read
    void take(std::chrono::milliseconds patience);
    pid_t pid_ = -1;
    int code_ = -1;
    UniqueFd to_, from_, errors_;
    std::string begun_, complaints_;
    bool spoke_ = false;
    DebugAssembly assembly_;
    std::function<void()> forced_;
    std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

} // namespace pmixhost
