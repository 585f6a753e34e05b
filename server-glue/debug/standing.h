// Which processes of the launched job stand, or will, because the debugger has asked for it, as far as this process
// hears of it: when the debugger has gone nobody else lets them go. Pure.
#pragma once

#include "common/job/debug_stops.h"
#include "server-glue/core/signature.h"

#include <vector>

namespace pmixhost::indirect {

class Standing {
  public:
    Standing() = default;
    explicit Standing(const DebugStops &stops);

    // These processes of `nspace` are let go from where each stands first; none named: all are. Where all shall stop,
    // how many they are is not known here, so only all at once are known to have gone on.
    void go_on(const std::vector<Process> &processes, const std::string &nspace);
    // Somebody else sees to them from now on.
    void hand_over() { *this = {}; }
    bool any() const;

  private:
    std::vector<RankRanges> places_; // in the order in which a process comes to them
};

} // namespace pmixhost::indirect
