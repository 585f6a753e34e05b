// Runs a program and keeps what it says, for programs that look at a host. Blocks: never in an event loop.
#pragma once

#include "common/base/result.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

struct Captured {
    int code = 0; // its exit code; 128 and its number for a signal
    std::string out, err;
};

inline constexpr std::size_t most_captured = 16u << 20;

// `words[0]` is a path, or is looked for in PATH. It gets /dev/null as input, and `environment` (NAME=VALUE; nothing:
// this process' own). Fails: not_found, denied and system (it cannot be executed), timeout (it took longer than
// `patience`, and was killed), limit (it said more than most_captured, and was killed).
Result<Captured> run_captured(const std::vector<std::string> &words, std::chrono::milliseconds patience,
                              const std::optional<std::vector<std::string>> &environment = std::nullopt);

// How capture_what_comes() ends what it runs.
struct CaptureBounds {
    std::chrono::milliseconds patience{60000};
    // It and what it started get SIGTERM when its time is up or `stop` says so, and SIGKILL so much later.
    std::chrono::milliseconds to_end{0}; // 0: SIGKILL at once
    // Its input is a pipe, whose end tells it to end instead of SIGTERM, also when this process is killed; SIGTERM
    // comes so much later then, and SIGKILL to_end behind that. 0: its input is /dev/null.
    std::chrono::milliseconds to_end_by_input{0};
    std::size_t most = most_captured;                    // bytes of each stream; what is beyond them is not kept
    std::function<bool()> stop;                          // asked every 100 ms, in this thread; may be empty
    std::optional<std::vector<std::string>> environment; // as run_captured() has it
};
struct CapturedPart : Captured {
    std::optional<Error> cut; // it was ended (timeout; limit): out and err are what it had said until then
};
// As run_captured(), but what has been said by one that has to be ended is not thrown away. Blocks for `patience`,
// `to_end_by_input` and `to_end` at most.
Result<CapturedPart> capture_what_comes(const std::vector<std::string> &words, const CaptureBounds &bounds);

// The path of `name` in PATH; empty: it is not there.
std::string path_of_program(const std::string &name);

} // namespace pmixhost
