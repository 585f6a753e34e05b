// Asks Slurm for allocations by libslurm, as salloc, scontrol and scancel do. All of it blocks. Strings go as fields
// of a message, never through a command line.
#pragma once

#include "plugins/slurm/backend/allocations.h"
#include "plugins/slurm/backend/step_caller.h"

namespace pmixhost::slurm {

// `prepare` calls slurm_init(), once. `steps` gives the steps of a job whose hosts cannot be given back.
Allocations::Slurm allocation_calls(void (*prepare)(),
                                    std::function<Result<std::vector<RunningStep>>(std::uint32_t job)> steps);

// The allocation of that name, which is this user's and has begun. Blocks; `prepare` was called. Fails (not_found,
// denied, unreachable; exists: it has not begun).
Result<RmAllocated> begun_allocation(const std::string &name);
// Gives it back, with all that runs in it; one that is over is. Blocks; likewise. Fails (denied, unreachable).
Result<void> end_allocation(const std::string &name);

// Reads the number of a job, and nothing else. Fails (not_found).
Result<std::uint32_t> job_number(const std::string &text);
// Slurm counts in minutes: rounds up.
std::uint32_t minutes_of(std::uint32_t seconds);
// `all` without `some`. Fails (not_found) where one of `some` is none of `all`.
Result<std::vector<std::string>> without(const std::vector<std::string> &all, const std::vector<std::string> &some);

} // namespace pmixhost::slurm
