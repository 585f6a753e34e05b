// The part of `pmixhost debug` that runs on each host of the job: a gdb for each rank, and what is said to them.
#pragma once

#include "common/job/debug_stops.h"
#include "common/job/job_map.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

inline constexpr std::size_t most_debugged_here = 256; // ranks of a host: each has a gdb

struct HostDebugAsk {
    std::string nspace;
    std::optional<std::vector<Rank>> ranks; // sorted; nothing: all
    std::chrono::seconds patience{60};      // to learn who is here
    std::optional<StopPlace> stop;          // they are about to stop there for this; nothing: they run
};

// For ranks whose debuggers were ended by force, and may have been left stopped by them: lets all of these go on that
// stand, whoever has stopped them, and those that wait for a release at `ask.stop`. Waits for debuggers that are just
// ending. Blocks, for some 35 s at most. False: it is not known that all go on.
bool let_go_on_this_host(const HostDebugAsk &ask);

// Takes lines of ToHost from `in` and writes those of FromHost to `out`, until it is over (command_pipe.h). Blocks.
// Lets all ranks go before it returns: none stays stopped that was not stopped before.
void debug_this_host(const HostDebugAsk &ask, int in, int out);

} // namespace pmixhost
