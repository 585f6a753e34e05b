// A job that PMIx_Spawn asked for, as it is to be started: which program runs how often and where. The launcher makes
// it (spawn/plan_spawn.h), and the RM's backend makes a command of it (job_starter.h).
#pragma once

#include "common/base/result.h"
#include "common/job/debug_stops.h"
#include "common/job/process_set.h"
#include "common/start/spawn_channel.h"
#include "common/start/task_spec.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

namespace pmixhost {

// What the launcher knows of the place where it is.
struct SpawnSite {
    struct Host {
        std::string name;
        std::uint32_t slots = 0;
    };
    std::vector<Host> hosts; // of the allocation, in order
    std::size_t max_tasks = 100'000;
    bool forwards_streams = false; // the steps' daemons can have the standard streams (iof/)
    // Reads a host file; tests give another function.
    std::function<Result<std::string>(const std::string &path)> read_file;
};

struct SpawnPlan {
    enum class Binding { unsaid, none, hwthread, core, socket, numa };
    static constexpr std::uint32_t all_ranks = UINT32_MAX;

    std::vector<TaskApp> apps; // with their ranks
    std::vector<std::string> host_of_rank;
    std::vector<ProcessSet> process_sets; // PMIX_PSET_NAME
    bool oversubscribed = false;          // a host has more tasks than slots, as was asked
    std::uint32_t cpus_per_task = 1;
    Binding binding = Binding::unsaid;
    std::optional<std::uint32_t> stdin_rank; // of the children; all_ranks; none: no input
    // Who alone can be given input by the parent (PMIX_FWD_STDIN); none: all, where `forwards` has that channel.
    std::optional<std::uint32_t> pushed_rank;
    bool push_to_all = false; // PMIX_FWD_STDIN, also beside a rank
    bool label_output = false;
    std::optional<bool> end_on_bad_exit;
    bool tell_start = false, tell_end = false;   // PMIX_EVENT_JOB_START and kin, PMIX_EVENT_JOB_END
    bool silent_end = false;                     // PMIX_EVENT_SILENT_TERMINATION: not if it has ended well
    std::optional<std::chrono::seconds> timeout; // of the start; zero: no limit
    std::chrono::seconds job_timeout{0};         // PMIX_JOB_TIMEOUT, from when its processes run; zero: no limit
    std::string parent_nspace;
    std::uint32_t parent_rank = 0;
    std::uint32_t parent_host = 0; // of its job
    bool shares_fate = false;      // with the parent's job, while they are connected (shared_fate.h)
    std::uint8_t forwards = 0;     // standard streams that are the parent's to handle, as bits of pmix_iof_channel_t
    DebugStops stops;              // for debuggers
    std::string debugs;            // the namespace that the processes, debugger daemons, debug; empty: none
    std::uint32_t debugged_rank = 0;
    std::uint8_t tells = 0;                    // of its processes, to the parent: ParentWord::tells
    std::uint32_t held_bytes = 0;              // of each forwarded stream, in one piece; 0: as it comes
    std::uint32_t held_seconds = 0;            // for no longer
    bool logs_start = false, logs_end = false; // PMIX_LOG_JOB_EVENTS, PMIX_LOG_COMPLETION

    ParentWord parent() const {
        return {parent_nspace, parent_rank,   shares_fate, stops.text(), forwards,    parent_host,
                debugs,        debugged_rank, tells,       held_bytes,   held_seconds};
    }
    // Who alone has an input; none: all, or nobody.
    std::optional<std::uint32_t> input_rank() const {
        auto named = stdin_rank ? stdin_rank : push_to_all ? std::nullopt : pushed_rank;
        return named == all_ranks ? std::nullopt : named;
    }
    bool has_fork_agents() const {
        return std::any_of(apps.begin(), apps.end(), [](const TaskApp &app) { return !app.fork_agent.empty(); });
    }
    bool takes_input() const { return stdin_rank || (forwards & 1) != 0; } // PMIX_FWD_STDIN_CHANNEL
    std::uint32_t tasks() const { return static_cast<std::uint32_t>(host_of_rank.size()); }
};

} // namespace pmixhost
