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

} // namespace pmixhost
