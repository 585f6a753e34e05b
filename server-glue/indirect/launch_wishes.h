// What a debugger wants of the job that its launcher starts: PMIX_LAUNCH_DIRECTIVES (PMIx standard, "Indirect
// launch").
#pragma once

#include "common/base/result.h"
#include "common/job/debug_stops.h"

#include <pmix_common.h>

namespace pmixhost::indirect {

struct LaunchWishes {
    DebugStops stops;
};
// Directives that are not known are the launcher's own options' business, and have no effect unless they are required.
// Fails (invalid, unsupported), naming the directive.
Result<LaunchWishes> read_launch_wishes(const pmix_info_t *info, std::size_t count);

} // namespace pmixhost::indirect
