// The tool that has started this srun, if one has: a debugger, which holds it until its user lets go, or a tool that
// waits for a file that tells where the job is. What it wants is told to the step's hosts in the tasks' environment
// (hook_env.h).
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/srun_context.h"

#include <string>

namespace pmixhost::slurm {

// For a debugger that has srun's own interface Slurm stops the tasks, and nobody else may. Fails (unsupported) where
// `environment`, srun's own (that of its hook has nothing of the user's), or a debugger that has started srun, asks for
// stops of ours.
Result<void> check_one_debugger(bool mpir, bool started_by_debugger, char *const *environment);

// The file that a tool waits for (plugins/kit/launcher_file.h), or empty. An srun that PMIx_Spawn has started is the
// launcher's; of a het step the first component does it for all. Fails (limit) where Slurm takes no variable.
Result<std::string> ask_for_launcher_file(const LaunchContext &context, Rank first_rank, char ***environment);

// Waits at `channel` (plugins/kit/indirect_launch.h) until the debugger lets go, as long as the job goes on. The file
// by which its tool finds the job. `hosts`: those of the step that have tasks. Fails with what the user should know:
// there is to be no job.
Result<std::string> await_debugger(const LaunchContext &context, const ClientInfo &info, std::size_t hosts, int channel,
                                   char ***environment);

} // namespace pmixhost::slurm
