// What a debugger wants of the job that its launcher starts: PMIX_LAUNCH_DIRECTIVES (PMIx standard, "Indirect
// launch"), and what its later requests mean for that job. In the loop's thread; reads the caller's memory alone.
#pragma once

#include "common/base/result.h"
#include "common/job/debug_stops.h"

#include <pmix_common.h>

#include <string>
#include <vector>

namespace pmixhost::indirect {

struct LaunchWishes {
    DebugStops stops;
    std::vector<std::string> notes; // for the user: what has no effect, or another one than it may seem
};
// Directives that are not known are the launcher's own options' business, and have no effect unless they are required:
// a note names them. Fails (invalid, unsupported), naming the directive: also where another program would be run than
// was asked for.
Result<LaunchWishes> read_launch_wishes(const pmix_info_t *info, std::size_t count);

// The signals of a PMIx_Job_control, in their order, as far as processes stop or go on by them.
std::vector<std::int32_t> stops_and_goes(const pmix_info_t *info, std::size_t count);

// Does a PMIx_Spawn start debugger daemons beside that job? Those that are started with a job of their own are beside
// that one.
bool starts_daemons_beside(std::string_view job, const pmix_info_t *info, std::size_t info_count,
                           const pmix_app_t *apps, std::size_t app_count);

// Whom a request names: the launcher, which is `launcher`, or processes of jobs.
enum class Named : std::uint8_t { launcher, jobs, both };
Named named_by(std::string_view launcher, const pmix_proc_t *processes, std::size_t count);

} // namespace pmixhost::indirect
