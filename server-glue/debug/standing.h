// Which processes of a job that a debugger has started stand, or will, because it has asked for it, as far as is heard
// here: when the debugger has gone nobody else lets them go. Pure.
#pragma once

#include "common/job/debug_stops.h"
#include "server-glue/core/signature.h"

#include <map>
#include <vector>

namespace pmixhost {

class Standing {
  public:
    Standing() = default;
    explicit Standing(const DebugStops &stops);

    // All who are to stop there have (PMIX_READY_FOR_DEBUG), and are these: how many all are was not known before.
    void stand_at(StopPlace place, const std::vector<Rank> &ranks);
    // PMIX_DEBUGGER_RELEASE: these processes of `nspace` are let go from where each stands first; none named: all are.
    void released(const std::vector<Process> &processes, const std::string &nspace);
    // PMIX_JOB_CTRL_RESUME: likewise, from their first instruction alone.
    void resumed(const std::vector<Process> &processes, const std::string &nspace);
    // Somebody else sees to them from now on.
    void hand_over() { *this = {}; }
    bool any() const { return !places_.empty(); }

  private:
    using Places = std::map<StopPlace, RankRanges>; // none is empty
    static void let_go(Places &from, const std::vector<Process> &processes, const std::string &nspace);
    Places places_; // in the order in which a process comes to them
};

} // namespace pmixhost
