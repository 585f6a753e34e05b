// From what PMIx_Spawn was asked to what is to be started: which directive means what, how many
// processes of which program run on which host, and whether the allocation can hold them. Pure; what
// a resource manager then makes of the plan is its backend's business (job_starter.h).
//
// Placement. Hosts are filled in the order of the list, each up to its slots (CPUs of the allocation,
// or the number that PMIX_HOST or a host file gives), without regard to what runs there already: a
// job of its own may overlap others, but does not itself ask for more than there is, unless the
// mapping policy says `:oversubscribe`. Programs are placed one after the other, and their ranks
// follow each other.
//   PMIX_MAPBY   slot (also core, hwthread; the default), node, ppr:N:node
//                modifiers :oversubscribe, :nooversubscribe, :pe=N
//   PMIX_PPR     N:node
//   PMIX_RANKBY  slot: ranks follow each other on a host; node: from host to host. Default: as mapped
//   PMIX_BINDTO  none, hwthread, core, socket, package, numa; modifiers are ignored
#pragma once

#include "common/process_set.h"
#include "common/task_spec.h"
#include "common/wire/messages.h"

#include <chrono>
#include <functional>
#include <optional>
#include <variant>

namespace pmixhost {

// What the launcher knows of the place where it is.
struct SpawnSite {
    struct Host {
        std::string name;
        std::uint32_t slots = 0;
    };
    std::vector<Host> hosts;      // of the allocation, in order
    std::size_t max_tasks = 100'000;
    // The contents of a host file; for tests another one.
    std::function<Result<std::string>(const std::string &path)> read_file;
};

struct SpawnPlan {
    enum class Binding { unsaid, none, hwthread, core, socket, numa };
    static constexpr std::uint32_t all_ranks = UINT32_MAX;

    std::vector<TaskApp> apps;                  // with their ranks
    std::vector<std::string> host_of_rank;
    std::vector<ProcessSet> process_sets;       // PMIX_PSET_NAME
    bool oversubscribed = false;                // a host has more tasks than slots, as was asked
    std::uint32_t cpus_per_task = 1;
    Binding binding = Binding::unsaid;
    std::optional<std::uint32_t> stdin_rank;    // of the children; all_ranks; none: no input
    bool label_output = false;
    std::optional<bool> end_on_bad_exit;
    bool tell_start = false, tell_end = false;  // PMIX_EVENT_JOB_START and kin, PMIX_EVENT_JOB_END
    std::optional<std::chrono::seconds> timeout; // of the start; zero: no limit
    std::string parent_nspace;
    std::uint32_t parent_rank = 0;
    bool shares_fate = false; // with the parent's job, while they are connected (shared_fate.h)

    std::uint32_t tasks() const { return static_cast<std::uint32_t>(host_of_rank.size()); }
};

// Why there is none: a status for the caller, a text for people.
struct SpawnRefusal {
    int status;
    std::string text;
};

std::variant<SpawnPlan, SpawnRefusal> plan_spawn(const wire::SpawnRequest &request,
                                                 const SpawnSite &site);

} // namespace pmixhost
