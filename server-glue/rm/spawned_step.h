// A facet of the RM's backend (rm_backend.h): steps that were made for PMIx_Spawn (StepInfo::parent), or whose launch
// somebody else waits for, a debugger that has started the launcher (StepInfo::tells_launch). Only with a JobStarter
// (job_starter.h), which makes the former, and RmRoles, by which the launcher is asked to make them.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <string>

namespace pmixhost {

// How the start of a spawned step went.
struct LaunchReport {
    int status = 0;   // 0: every program of this host runs; else a PMIx status
    std::string text; // one line for the user
};

class RmSpawnedStep {
  public:
    virtual ~RmSpawnedStep() = default;
    // Only in such a step: tells whoever made the step. Each host reports its success;
    // the first failure of any counts. Errors: unreachable.
    virtual void report_launch(LaunchReport report, std::function<void(Result<void>)> done) = 0;
    // Likewise, before that, where that one wants to hear of it (a parent says so by ParentWord::first_start): a
    // program of this host runs. The first host counts; of one with a single program report_launch() says as much.
    virtual void report_start(std::function<void(Result<void>)> done) = 0;
    // Only where StepInfo::tells_ends: processes of this host have ended, as one line (events/host_ends.h). `last`:
    // none is left here; whoever made the step waits a moment for that of each host, of bad ends alone
    // (ToldEnds::bad) of each that has told of some.
    virtual void report_ends(std::string line, bool last, std::function<void(Result<void>)> done) = 0;
};

} // namespace pmixhost
