// Where the processes of a step shall stop for a debugger: as the spawn request says, or the settings of who started
// it.
#pragma once

#include "common/config/settings.h"
#include "common/job/debug_stops.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// Fails with a text for the user: invalid, and not_found for a rank that is not there.
Result<DebugStops> stops_of(const StepInfo &step, const Settings &settings);

} // namespace pmixhost
