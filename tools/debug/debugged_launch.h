// A launcher (srun) that `pmixhost debug` starts, for a job whose processes stop for it
// (common/job/debug_stops.h). Standard input is the prompt's, so what the launcher reads is given to it in lines, or is
// /dev/null; it writes where this process does, as a program under gdb. It ends when this process is killed.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

class DebuggedLaunch {
  public:
    struct Wish {
        std::string stops;                          // debug.stop (common/job/debug_stops.h)
        bool takes_input = false;                   // by give()
        std::pair<std::string, std::string> labels; // StarterCommand::labels, where that is wished
    };
    // Fails as fork(2), and execvp(3).
    static Result<DebuggedLaunch> start(const std::vector<std::string> &words, const Wish &wish);
    DebuggedLaunch(DebuggedLaunch &&other) noexcept;
    DebuggedLaunch &operator=(DebuggedLaunch &&) = delete;
    // What still runs is told to end (SIGTERM), and waited for; what has not ended ten seconds later is killed.
    ~DebuggedLaunch();

    struct Job {
        std::string nspace;
        std::uint32_t processes = 0;
    };
    // Waits until it has a job, as long as that takes. Fails (not_found) when it ends without one, or `stop` says so.
    Result<Job> await_job(const std::function<bool()> &stop);
    bool runs();
    // Of at most 4096 bytes, which it takes as a whole. Does not wait: fails (limit) when so much waits to be read that
    // these have no room, and (invalid) when it takes no input, or no more.
    Result<void> give(std::string_view bytes);
    void end_input() { input_.reset(); }
    // Waits for its end: its exit code, or 128 and the signal. `interrupted` takes what Ctrl-C has left; it is the
    // launcher's, then; after `told_to_end` it is told so, too.
    int await_end(const std::function<bool()> &interrupted, const std::function<bool()> &told_to_end);
    // Ends it, as the destructor does, unless it ends by itself in that time; its exit code, as await_end() has it.
    int end(std::chrono::milliseconds patience);

  private:
    DebuggedLaunch(pid_t pid, UniqueFd channel, UniqueFd input)
        : pid_(pid), channel_(std::move(channel)), input_(std::move(input)) {}
    bool reap();
    void end_now();
    pid_t pid_ = -1; // -1: it has ended
    int code_ = 0;
    UniqueFd channel_; // common/start/spawn_channel.h
    UniqueFd input_;
    std::string said_;
    std::uint32_t processes_ = 0;
};

} // namespace pmixhost
