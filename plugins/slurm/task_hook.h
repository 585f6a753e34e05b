// What happens in each task just before its exec, as the job's user, in a fork of slurmstepd that
// has one thread: fetching its environment at the task door (contrib/doc/task-door.md).
#pragma once

#include "common/job_map.h"
#include "common/result.h"
#include "plugins/slurm/exit_report.h"
#include "plugins/slurm/prefork.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pmixhost::slurm {

inline constexpr std::size_t max_task_variables = 8192;
inline constexpr std::size_t max_task_environment = 1u << 20;

// Asks at the door `name` (abstract) for the environment of `rank`. The door's owner must be
// `uid` or root. The text of a failure does not say why there is no daemon: the status page does.
// `door`: if not null, gets the connection, which the daemon then listens on.
Result<std::vector<std::string>> ask_at_door(const std::string &name, uid_t uid, Rank rank,
                                             std::chrono::milliseconds limit,
                                             UniqueFd *door = nullptr);

// Sets what the daemon gave in `environment` and takes the shim's own variables out of it.
Result<void> prepare_task(const Prepared &prepared, Rank rank, char ***environment);

// How long a task waits at the door: PMIXHOST_START_TIMEOUT ("30s", "500ms", "2m"), else 30 s.
std::chrono::milliseconds door_timeout(char *const *environment);

// Ends the step because its tasks cannot be prepared: srun gets one line and the exit code 1 from
// one task of this host. Where srun cannot be told, the line goes to the task's standard error.
struct StepKiller {
    Sealer &sealer;
    std::function<void(const StepName &)> kill;
    int error_fd = 2;
};
void end_step_from_task(const Prepared &prepared, bool first_on_host, const std::string &why,
                        char *const *environment, const StepKiller &killer);

} // namespace pmixhost::slurm
