// The session of an allocation under Slurm: a step of its own, one task on the allocation's first
// host, that shares the CPUs with the job's steps. It lives until the job ends, or until it is idle
// for session.idle, whatever becomes of the step that started it.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/config/settings.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::slurm {

// As squeue -s shows it.
inline constexpr std::string_view session_step_name = "pmixhost-session";

struct SessionStep {
    std::uint32_t job = 0; // the leading one of a het job
    std::string node;      // where it runs
    std::string contacts;  // the directory of its contact socket
    std::string secret;    // of the family that it is for; empty: the session of all that prove with munge
};

// The command line of the srun that makes it, with pmixhostd's arguments. `pmixhostd`: its path.
std::vector<std::string> session_command(const SessionStep &step, const Settings &settings,
                                         const std::string &pmixhostd);

// Starts that srun as a process of its own and gives its pidfd, which is readable when it has ended. Does not wait
// for it: the session's socket tells whether there is one. Blocks no longer than a fork does. Needs SIGCHLD ignored,
// or a reaper.
Result<UniqueFd> start_session(const SessionStep &step, const Settings &settings, const std::string &pmixhostd);

// slurm.srun of the configuration, or the first srun of the usual places.
Result<std::string> srun_path(const Settings &settings);

} // namespace pmixhost::slurm
