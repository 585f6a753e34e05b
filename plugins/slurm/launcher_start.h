// Starts the launcher (a pmixhostd in the role `launcher`) beside srun: its child, with srun's
// standard streams, environment and directory, and with nothing else of srun's.
#pragma once

#include "plugins/slurm/srun_ear.h"

#include <string>

namespace pmixhost::slurm {

struct LauncherStart {
    std::string daemon;                  // path of pmixhostd
    std::vector<std::string> arguments;  // after --start-fd N
    std::string host;                    // this one's name
    std::uint32_t job_id = 0;
    std::string output, error, label;    // srun's options of these names, for the jobs it starts
};

// In any thread.
Result<LauncherProcess> start_launcher(const LauncherStart &start);

} // namespace pmixhost::slurm
