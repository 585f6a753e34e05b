// What happens in srun before the launch: describing the step for its daemons, and opening the ear
// for exit reports. As the user who runs srun; called once per component of a het step, in threads
// of their own.
#pragma once

#include "common/result.h"
#include "plugins/slurm/exit_report.h"
#include "plugins/slurm/slurm_abi.h"
#include "plugins/slurm/srun_command.h"
#include "plugins/slurm/task_map.h"

#include <optional>
#include <string>

namespace pmixhost::slurm {

// What srun keeps for a step until it is over: the opaque state that the hooks pass on.
struct LaunchState {
    ExitReportListener listener;
};

// What else goes into the map: from srun's own surroundings.
struct LaunchContext {
    std::string start_key;       // the same in all components of a step
    std::string cluster;
    std::string allocated_hosts; // SLURM_JOB_NODELIST
    std::string allocated_cpus;  // SLURM_JOB_CPUS_PER_NODE
    std::vector<std::uint32_t> component_jobs;
    SrunPrograms programs;
    PortRange ports;
};
LaunchContext srun_context();

// Fails (unsupported) on machines with a front end, (invalid) on a layout that makes no sense.
Result<TaskMap> describe_step(const ClientInfo &info, const LaunchContext &context);

// Puts the map and the address for reports into the tasks' environment.
Result<LaunchState> prepare_launch(const ClientInfo &info, const LaunchContext &context,
                                   char ***environment);

// srun's exit code as the report wants it, or 0; prints the report's line to `error_fd`.
int finish_launch(LaunchState &state, Sealer &sealer, int error_fd);

} // namespace pmixhost::slurm
