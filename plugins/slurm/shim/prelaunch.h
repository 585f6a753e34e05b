// What happens in srun before the launch: telling the step's hosts what it is (step_description.h), and opening the
// listener for what their daemons say. As the user who runs srun; called once per component of a het step, in threads
// of their own.
#pragma once

#include "common/base/result.h"
#include "plugins/kit/launch_listener.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/srun_context.h"

#include <memory>

namespace pmixhost::slurm {

// What srun keeps for a step until it is over: the opaque state that the hooks pass on.
struct LaunchState {
    std::unique_ptr<kit::LaunchListener> listener; // null for a step that slurmstepd asks no mpi plugin of
};

// Puts the map, the address for reports and the secret into the tasks' environment, from which the shim in slurmstepd
// takes them out. Waits for a debugger that has started srun, as long as the job goes on. `sealer`: of context.secret.
Result<LaunchState> prepare_launch(const ClientInfo &info, const LaunchContext &context,
                                   std::unique_ptr<kit::Sealer> sealer, char ***environment);

// srun's exit code as the report wants it, or 0; prints the report's line to `error_fd`. Waits for
// the jobs that the step's tasks have spawned.
int finish_launch(LaunchState &state, int error_fd);

} // namespace pmixhost::slurm
