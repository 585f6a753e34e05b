// Where the processes of a step shall stop for a debugger: as the spawn request says, or the settings of who started
// it.
#pragma once

#include "common/config/settings.h"
#include "common/job/debug_stops.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// Fails with a text for the user: invalid; not_found for a rank that is not there; unsupported for a stop at the first
// instruction of tasks that the backend starts itself (`has_door`: they come through the task door).
Result<DebugStops> stops_of(const StepInfo &step, const Settings &settings, bool has_door);

} // namespace pmixhost
