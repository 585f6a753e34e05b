// What an srun of our own must not find in its environment: a session's step, a look at the hosts of a job. The people
// whose environment it is have set these for the sruns of their jobs. What a PMIx_Spawn starts is such a job, and has a
// list of its own (spawn_command.h).
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pmixhost::slurm {

// Is it an option of srun (srun(1), "INPUT ENVIRONMENT VARIABLES") that changes where output goes, what else runs
// beside the program or around it, what it finds in its environment, or what ends all of it? `variable`: its name, or
// NAME=VALUE.
inline bool changes_own_srun(std::string_view variable) {
    constexpr std::string_view options[] = {
        "SLURM_BCAST",       "SLURM_CONTAINER",     "SLURM_CONTAINER_ID", "SLURM_EPILOG",
        "SLURM_EXPORT_ENV",  "SLURM_KILL_BAD_EXIT", "SLURM_LABELIO",      "SLURM_OPEN_MODE",
        "SLURM_PROLOG",      "SLURM_STDERRMODE",    "SLURM_STDOUTMODE",   "SLURM_TASK_EPILOG",
        "SLURM_TASK_PROLOG", "SLURM_TIMELIMIT",     "SLURM_UNBUFFEREDIO", "SLURM_WAIT",
    };
    std::string_view name = variable.substr(0, variable.find('='));
    return name.starts_with("SRUN_") || std::find(std::begin(options), std::end(options), name) != std::end(options);
}

} // namespace pmixhost::slurm
