// Answers what users of Slurm ask it with squeue and sinfo, by libslurm. Each call waits for slurmctld, for up to
// Slurm's message timeout and its repetitions, so it needs a thread of its own.
#pragma once

#include "server-glue/rm/questions.h"

namespace pmixhost::slurm {

// The answer is about job `job_id` where the question does not name another allocation. slurm_init() comes first.
// Errors: not_found (no such job), unreachable.
Result<RmAnswer> ask_slurm(const RmQuestion &question, std::uint32_t job_id);

// "up", "down", "drain" or "inactive", as sinfo says.
const char *partition_state(std::uint16_t state_up);
// "PENDING", "RUNNING", ... as squeue says, without the flags.
const char *job_state(std::uint32_t state);

} // namespace pmixhost::slurm
