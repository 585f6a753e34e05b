// What happens in each task just before its exec, as the job's user, in a fork of slurmstepd that
// has one thread: fetching its environment at the task door (contrib/doc/task-door.md).
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "plugins/kit/starter_sender.h"
#include "plugins/slurm/shim/prefork.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pmixhost::slurm {

// Sets what the daemon gave in `environment` and takes the shim's own variables out of it.
Result<void> prepare_task(const Prepared &prepared, Rank rank, char ***environment);

// How long a task waits at the door, by `start_timeout_variable`: "500ms", "30s", "2min", "1h" or seconds without a
// unit, brought between 100 ms and an hour; anything else means 30 s.
inline constexpr std::string_view start_timeout_variable = "PMIXHOST_START_TIMEOUT";
std::chrono::milliseconds door_timeout(char *const *environment);

// Ends the step because a task of it cannot be prepared: srun gets one line and the exit code 1 from the first task of
// this host that comes to that, or where this host cannot prove its user, the line alone. Where srun cannot be told,
// the line goes to the task's standard error, and is read there before the step is killed. Of a het step all components
// are killed: the step has the same number in each of their jobs.
struct StepKiller {
    kit::Sealer &sealer;
    std::function<void(const std::vector<std::uint32_t> &jobs, std::uint32_t step)> kill;
    int error_fd = 2;
};
// `first_on_host`: it is Slurm's first task here, which speaks where there is no page to ask
// (StatusPage::claim_report).
void end_step_from_task(const Prepared &prepared, bool first_on_host, const std::string &why, char *const *environment,
                        const StepKiller &killer);

} // namespace pmixhost::slurm
