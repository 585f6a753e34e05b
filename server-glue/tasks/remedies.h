// Which of mpi.remedies (common/config/remedies.h) apply on this host, with this PMIx library.
#pragma once

#include "common/config/settings.h"

#include "server-glue/rm/rm_backend.h"

#include <string>
#include <vector>

namespace pmixhost {

// The remedies that are wanted and needed, for the door's answer (contrib/doc/task-door.md): "?NAME=VALUE", which is
// set in a task that has no NAME.
std::vector<std::string> remedies_of_tasks(const Settings &settings, const StepInfo &step);
// Sets them in this daemon's own environment, in the same way. To be called before it has a second thread and before
// the PMIx library starts.
void set_remedies_of_daemon(const Settings &settings);

} // namespace pmixhost
