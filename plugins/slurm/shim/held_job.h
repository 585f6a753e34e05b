// An srun that a debugger holds waits before its step begins, where it listens to nobody: not to slurmctld either, when
// the job is cancelled or its time is over. So it asks, now and then.
#pragma once

#include "common/base/result.h"

#include <cstdint>

namespace pmixhost::slurm {

// Fails (not_found) when the job is over, or is known no more. What cannot be told now does not fail. Blocks as
// slurmctld does.
Result<void> job_goes_on(std::uint32_t job);

} // namespace pmixhost::slurm
