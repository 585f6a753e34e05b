// PMIx_Spawn on the local backend: a job of its own is another `pmixhost run`, on virtual hosts of the
// same names.
#pragma once

#include "server-glue/rm/job_starter.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost::local {

struct StarterContext {
    std::string pmixhost;                                   // absolute path of the tool
    std::string task_program;                               // of pmixhost-task
    std::string tmpdir, config;                             // options of the parent's run; may be empty
    std::vector<std::string> environment;                   // the launcher's
    std::optional<std::uint64_t> open_files = std::nullopt; // of who has called `pmixhost run`: its soft limit
};
// Fails (limit) where the description of the programs is too long.
Result<JobCommand> run_command(const SpawnPlan &plan, const StarterContext &context);

// BackendModule::create_starter of the local backend. Fails (not_found) where the document does not say where
// pmixhost is, and as system_error() says where this program cannot see its own path.
Result<std::unique_ptr<JobStarter>> create_starter(const StartDocument &document, const Settings &settings,
                                                   const std::string &allocation);

} // namespace pmixhost::local
