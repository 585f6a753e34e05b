// The task map of a step that srun launches (base/task_map.h): how Slurm has laid out its tasks, and what srun knows of
// them.
#pragma once

#include "common/base/result.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/shim/srun_context.h"

namespace pmixhost::slurm {

// Fails (unsupported) on machines with a front end, (limit) for too many hosts, (invalid) on a layout that makes no
// sense and on process sets that do not fit the step. Any thread.
Result<TaskMap> describe_step(const ClientInfo &info, const LaunchContext &context);

} // namespace pmixhost::slurm
