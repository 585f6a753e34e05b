// What this srun knows of itself and of its job beside what the hooks are handed: its environment, its options, its
// slurm.conf, who has started it.
#pragma once

#include "common/job/job_map.h"
#include "plugins/kit/starter_listener.h"
#include "plugins/slurm/shim/daemon_path.h"
#include "plugins/slurm/shim/srun_command.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pmixhost::slurm {

struct LaunchContext {
    std::string start_key; // names this start; the same in all components of a step
    std::string secret;    // likewise; empty: the step's hosts prove with munge
    std::string cluster;   // Slurm's ClusterName here
    // That srun was sent to (-M), as SLURM_WORKING_CLUSTER has it; empty: none was said.
    std::string working_cluster;
    std::string allocated_hosts; // SLURM_JOB_NODELIST, of all components
    std::string allocated_cpus;  // SLURM_JOB_CPUS_PER_NODE, likewise
    std::string binding;         // cpu_binding.h
    std::vector<std::uint32_t> component_jobs;
    SrunPrograms programs;
    std::string process_sets;       // PMIXHOST_PSETS, as the user wrote it
    std::vector<App> spawned;       // instead, in an srun that was started for PMIx_Spawn
    std::string launcher_file;      // PMIX_LAUNCHER_RNDZ_FILE
    int debugger = -1;              // of kit/indirect_launch.h, where a debugger has started srun; becomes the launch's
    bool allocates = false;         // then, its job's allocation is one that srun itself has asked for
    bool holds_place = false;       // it has no program but for the debugger to spawn by
    bool kills_on_bad_exit = false; // KillOnBadExit of slurm.conf
    bool mpir = false;              // a debugger has srun's own interface for debuggers (MPIR)
    PortRange ports;                // SrunPortRange
    std::string host;               // srun's
    DaemonPath daemon;              // should a launcher or a desk be wanted
    std::function<Result<void>(std::uint32_t job)> job_goes_on; // asked while a debugger holds srun (held_job.h)
};

// Of the srun that this code runs in, but for job_goes_on. Takes what whoever started it has left for it once: the
// debugger's channel, and the secret. Asks munge, once in a process, and blocks as that does.
LaunchContext srun_context();

} // namespace pmixhost::slurm
