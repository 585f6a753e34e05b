// A task's standard streams where the daemon stands between it and `pmixhost run` (io.capture).
#pragma once

#include "plugins/local/start.h"
#include "server-glue/core/task_descriptors.h"

namespace pmixhost::local {

// Puts a pipe of the daemon's in the place of each of the task's streams that is a pipe, and returns the ends that are
// the daemon's. An input that is /dev/null stays the task's: there is nobody whom it comes from. Fails as
// system_error() says of pipe(2); then the task keeps all.
Result<TaskDescriptors> stand_between(TaskSpec &task);

} // namespace pmixhost::local
