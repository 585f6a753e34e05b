// What a debugger that has started a launcher holds of the job, and nobody else lets go on when it is gone.
#pragma once

#include "common/job/debug_stops.h"
#include "server-glue/control/tool_pauses.h"
#include "server-glue/debug/standing.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pmixhost::indirect {

// What a debugger holds of its job, as far as is heard here: who stands because it has asked for it, what it has
// paused, and its daemons beside the job, who let go as well, but of that nothing is heard. Pure.
class HeldJob {
  public:
    HeldJob() = default;
    explicit HeldJob(const DebugStops &stops) : standing_(stops) {}
    // Somebody stands at a stop: nobody but the debugger lets the job go on.
    bool stands() const { return standing_.any(); }
    bool any() const { return stands() || pauses_.any(); }
    // Likewise, as far as can be told: its daemons may have left somebody standing.
    bool may_stand() const { return any() || had_daemons_; }
    void stand_at(StopPlace place, const std::vector<Rank> &ranks) { standing_.stand_at(place, ranks); }
    // PMIX_DEBUGGER_RELEASE for these processes; none: for all of `job`.
    void released(const std::vector<Process> &processes, const std::string &job);
    // These signals were sent to these processes; none: to all of `job`.
    void signalled(std::vector<Process> processes, const std::vector<std::int32_t> &signals, const std::string &job);
    // Daemons beside the job run; `go_on`: without their debugger.
    void daemons_run(const Bytes &nspace, bool go_on);
    void ended(const Bytes &nspace);

    // The debugger has gone. What it has paused, job by job: it goes on; and its daemons that end with it. Each once.
    std::vector<std::vector<Process>> take_paused();
    std::vector<Bytes> take_daemons();
    // There were daemons, and none is left to let go of whoever stands still.
    bool is_left() const { return had_daemons_ && daemons_.empty(); }

  private:
    Standing standing_;
    ToolPauses pauses_;
    std::set<Bytes> paused_jobs_;
    std::map<Bytes, bool> daemons_; // do they go on without the debugger?
    std::set<Bytes> ended_;         // perhaps before their start was heard of
    bool had_daemons_ = false;
};

} // namespace pmixhost::indirect
