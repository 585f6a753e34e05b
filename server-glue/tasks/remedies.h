// What mpi.remedies (common/config/remedies.h) comes to on this host, with this PMIx library.
#pragma once

#include "common/config/settings.h"

#include "server-glue/rm/rm_backend.h"

#include <string>
#include <vector>

namespace pmixhost {

// Those that are wanted and needed, for the door's answer (contrib/doc/task-door.md): "?NAME=VALUE", which is set in a
// task that has no NAME.
std::vector<std::string> remedies_of_tasks(const Settings &settings, const StepInfo &step);
// For this daemon itself, in the same way. Before it has a second thread and before the PMIx library starts.
void set_remedies_of_daemon(const Settings &settings);

} // namespace pmixhost
