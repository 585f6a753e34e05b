// What a debugger wants of the job that its launcher starts: PMIX_LAUNCH_DIRECTIVES (PMIx standard, "Indirect
// launch"), and what its later requests mean for that job. In the loop's thread; reads the caller's memory alone.
#pragma once

#include "common/base/result.h"
#include "common/job/debug_stops.h"
#include "common/job/told_ends.h"

#include <pmix_common.h>

#include <string>
#include <vector>

namespace pmixhost::indirect {

// What the debugger wants to be told of the job's life, or logged for the user.
struct LifeWishes {
    bool logs_start = false, logs_end = false; // PMIX_LOG_JOB_EVENTS: both; PMIX_LOG_COMPLETION
    bool logs_all_ends = false;                // of processes: PMIX_LOG_PROC_TERMINATION
    bool logs_bad_ends = false;                // PMIX_LOG_PROC_ABNORMAL_TERMINATION
    bool tells_all_ends = false;               // as events: PMIX_NOTIFY_PROC_TERMINATION
    bool tells_bad_ends = false;               // PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION
    // PMIX_NOTIFY_JOB_EVENTS, PMIX_NOTIFY_COMPLETION: start, launch and end are told in any case, but the end is to say
    // who failed first.
    bool names_first = false;
    // What the job's hosts are to tell of their processes' ends. An end that is told or logged none may miss.
    ToldEnds told_ends() const {
        return logs_all_ends || logs_bad_ends || tells_all_ends || tells_bad_ends ? ToldEnds::all
               : names_first                                                      ? ToldEnds::bad
                                                                                  : ToldEnds::none;
    }
};

struct LaunchWishes {
    DebugStops stops;
    LifeWishes life;
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
