// What happens in srun before the launch: describing the step for its daemons, and opening the listener
// for exit reports. As the user who runs srun; called once per component of a het step, in threads
// of their own.
#pragma once

#include "common/base/result.h"
#include "plugins/kit/launch_listener.h"
#include "plugins/slurm/shim/slurm_abi.h"
#include "plugins/slurm/shim/task_map.h"
#include "plugins/slurm/steps/srun_command.h"

#include <functional>
#include <optional>
#include <string>

namespace pmixhost::slurm {

// What srun keeps for a step until it is over: the opaque state that the hooks pass on.
struct LaunchState {
    std::unique_ptr<kit::LaunchListener> listener; // null for a step that slurmstepd asks no mpi plugin of
};

// What else goes into the map: from srun's own surroundings.
struct LaunchContext {
    std::string start_key; // the same in all components of a step
    std::string secret;    // likewise; empty: the step's hosts prove with munge
    std::string cluster;
    std::string allocated_hosts; // SLURM_JOB_NODELIST, of all components
    std::string allocated_cpus;  // SLURM_JOB_CPUS_PER_NODE, likewise
    std::string binding;         // cpu_binding.h
    std::vector<std::uint32_t> component_jobs;
    SrunPrograms programs;
    std::string process_sets;       // PMIXHOST_PSETS, as the user wrote it
    std::vector<App> spawned;       // instead, in an srun that was started for PMIx_Spawn
    std::string launcher_file;      // PMIX_LAUNCHER_RNDZ_FILE
    int debugger = -1;              // of kit/indirect_launch.h, where a debugger has started srun; becomes the launch's
    bool holds_place = false;       // it has no program but for the debugger to spawn by
    bool kills_on_bad_exit = false; // KillOnBadExit of slurm.conf
    bool mpir = false;              // a debugger has srun's own interface for debuggers (MPIR)
    PortRange ports;
    std::string host;   // srun's
    std::string daemon; // pmixhostd, should a launcher be wanted
    std::vector<std::string> daemon_arguments;
    std::function<Result<void>(std::uint32_t job)> job_goes_on; // asked while a debugger holds srun (held_job.h)
};
LaunchContext srun_context();

// For a debugger that has srun's own interface Slurm stops the tasks, and nobody else may. Fails (unsupported) where
// `environment`, or a debugger that has started srun, asks for stops of ours.
Result<void> check_one_debugger(bool mpir, bool started_by_debugger, char *const *environment);

// Fails (unsupported) on machines with a front end, (invalid) on a layout that makes no sense
// and on process sets that do not fit the step.
Result<TaskMap> describe_step(const ClientInfo &info, const LaunchContext &context);

// Puts the map, the address for reports and the secret into the tasks' environment, from which the shim in slurmstepd
// takes them out. Waits for a debugger that has started srun, as long as the job goes on. `sealer`: of context.secret.
Result<LaunchState> prepare_launch(const ClientInfo &info, const LaunchContext &context,
                                   std::unique_ptr<kit::Sealer> sealer, char ***environment);

// srun's exit code as the report wants it, or 0; prints the report's line to `error_fd`. Waits for
// the jobs that the step's tasks have spawned.
int finish_launch(LaunchState &state, int error_fd);

} // namespace pmixhost::slurm
