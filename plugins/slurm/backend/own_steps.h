// Which steps of a user run in the cluster, for tools that look at all of them (BackendModule::own_steps). Slurm tells
// them per job, or all of the cluster: of a user with many jobs that is one question in place of hundreds.
#pragma once

#include "plugins/slurm/backend/step_caller.h"

namespace pmixhost::slurm {

struct OwnJob {
    std::uint32_t job = 0;
    std::uint32_t leader = 0; // of a het job its first component, by whose number its steps are called; else `job`
};
struct StepOfJob {
    std::uint32_t job = 0;
    RunningStep step;
};

struct OwnStepsSource {                                // blocking
    std::function<Result<std::vector<OwnJob>>()> jobs; // the user's that run
    // Fails (not_found) where the job has ended.
    std::function<Result<std::vector<RunningStep>>(std::uint32_t job)> steps;
    std::function<Result<std::vector<StepOfJob>>()> all_steps; // of all users
};
// With more jobs all steps are asked for.
inline constexpr std::size_t max_single_jobs = 16;

// "12.0", each once and in order, without sessions. Blocks. Fails as the source does.
Result<std::vector<std::string>> own_steps(const OwnStepsSource &slurm);

} // namespace pmixhost::slurm
