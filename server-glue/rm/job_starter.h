// What the launcher needs of a resource manager: where it is, how a plan becomes a command that starts
// the job there, and what the command's last words meant. Made by a backend (BackendModule).
#pragma once

#include "common/base/result.h"
#include "server-glue/rm/spawn_plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

// A program that starts a job and lives as long as it, with the job's output on its own standard
// streams. SIGTERM ends it and the job. It speaks on the spawn channel (common/start/spawn_channel.h).
struct JobCommand {
    std::vector<std::string> argv;        // argv[0]: an absolute path
    std::vector<std::string> environment; // NAME=VALUE; the whole
    std::string secret;                   // given to it over the spawn channel; empty: none
    // How many files it may have open (RLIMIT_NOFILE, the soft limit), which is its processes' as well; nothing: as
    // many as this process, which has raised that.
    std::optional<std::uint64_t> open_files = std::nullopt;
    bool drops_early_signals = false; // those that come before it has said that the job is created
};

// What the job's daemons will say of it (StepInfo).
struct JobPlace {
    std::vector<std::string> hosts; // each once, in the order of the node ids; empty: it cannot be told
    std::string job_id;
    std::uint32_t universe_size = 0;
};

class JobStarter {
  public:
    virtual ~JobStarter() = default;
    virtual const SpawnSite &site() const = 0;
    // The command that starts the job. Fails (limit) where the plan is too long for one. None of these blocks.
    virtual Result<JobCommand> command(const SpawnPlan &plan) = 0;
    // Where the job is, once it has that name: for the caller of PMIx_Spawn, who hears of it before the job's daemons
    // do.
    virtual JobPlace place(const SpawnPlan &plan, const std::string &nspace) const = 0;
    // The command ended without having made the job. `said`: its standard error. The kind of the error: limit where
    // the allocation has no room, not_found where there is none, denied, unreachable; else system.
    virtual Error explain(const std::string &said) const = 0;
};

} // namespace pmixhost
