// The part of `pmixhost stacks` that runs on each host of a job: which processes are here the servers of the job on
// this host say, and a debugger what they do.
#pragma once

#include "tools/stacks/stack_frames.h"
#include "tools/stacks/this_host.h" // whose stacks they are

#include <chrono>
#include <optional>
#include <vector>

namespace pmixhost {

struct HostStacksAsk {
    std::string nspace;
    std::optional<std::vector<Rank>> ranks; // sorted; nothing: all
    bool all_threads = false;
    std::string debugger; // see find_debugger()
    std::chrono::seconds patience{60};
};

// Those of the ranks that are on this host; none where the job has no server here. Blocks for `patience` at most, and
// the time that it takes to leave all as it was. The end of standard input, and a signal that ends programs (INT,
// TERM, HUP), end the look early. Threads may be left behind (read_stacks.h): end the process with _exit(2) afterwards.
std::vector<ProcessStacks> stacks_of_this_host(const HostStacksAsk &ask);

} // namespace pmixhost
