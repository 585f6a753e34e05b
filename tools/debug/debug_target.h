// What `pmixhost debug` debugs, a job that runs or one that is launched for it, and the way to its parts on the hosts.
#pragma once

#include "common/job/debug_stops.h"
#include "tools/debug/debug_link.h"
#include "tools/debug/debugged_launch.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

struct DebugWish {
    std::string ranks;      // as the option has them; empty: all
    std::string stop;       // "exec", "init", "app": where the processes of a launch stop; empty: they run
    unsigned patience = 60; // seconds for all hosts
};

struct DebugTarget {
    std::string nspace;
    std::vector<Rank> ranks; // sorted
};

// Nothing for what is none.
std::optional<StopPlace> stop_place_of(const std::string &name);

// A job that runs, by JOB[.STEP] or its namespace; of `ranks` (empty: all) those that run. Blocks for `patience`
// seconds at most. Fails with what to tell the user.
Result<DebugTarget> running_target(const std::string &job, const std::vector<Rank> &ranks, unsigned patience);

// Whether a command is one that is launched for this: srun, and not what has several jobs or needs the terminal. Fails
// (invalid) with what to do instead.
Result<void> may_be_launched(const std::vector<std::string> &command);
struct LaunchWish {
    bool takes_input = false; // by DebuggedLaunch::give()
    bool labels = false;      // each line of output has its rank in front
};
// Starts it; `stop` says where its processes stand first, those of `ranks` (empty: all). Fails as
// DebuggedLaunch::start().
Result<DebuggedLaunch> launch_for_debug(const std::vector<std::string> &command, StopPlace stop,
                                        const std::vector<Rank> &ranks, LaunchWish wish = {});
// Waits until it has a job, or `over`. When that takes more than ten seconds `tell` gets a line for the user, once: its
// processes may run already, without us, and read what nobody can give them. Fails when it has ended without a job; the
// text goes on behind what it is called.
Result<DebugTarget> launched_target(DebuggedLaunch &launch, const std::vector<Rank> &ranks,
                                    const std::function<bool()> &over,
                                    const std::function<void(const std::string &)> &tell);

// The parts on the hosts of a job. Where no resource manager's program knows it, its hosts are virtual ones of this
// machine. `over` ends the wait for them.
Result<DebugLink> link_to_hosts(const DebugWish &wish, const std::string &nspace, const std::function<bool()> &over);

} // namespace pmixhost
