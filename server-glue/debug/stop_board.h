// Who has stopped for a debugger: each host counts its own processes, and tells the first host that has some which
// shall stop at that place when none of them is missing any more. That one tells when all hosts have said so. Who has
// ended, before or while it was stopped, is not waited for, and a lost host neither. When the first host has gone, the
// next one takes over, and is told again. Pure: what it needs of its surroundings are the ports.
#pragma once

#include "common/job/debug_stops.h"
#include "common/job/job_map.h"
#include "common/wire/debug_messages.h"
#include "server-glue/core/host_port.h"

#include <set>

namespace pmixhost {

class StopPort {
  public:
    virtual ~StopPort() = default;
    // Only on one host, once for each place (again where that one is lost before the others have heard of it): all who
    // shall stop there have, as far as they live. Not called when none of them has.
    virtual void all_stopped(StopPlace place, const Bytes &breakpoint, const RankRanges &ranks) = 0;
};

class StopBoard {
  public:
    StopBoard(HostPort &hosts, StopPort &port, const JobMap &map, HostIndex self, const DebugStops &stops);

    // Shall that process of this host stop there?
    bool is_wanted(StopPlace place, Rank rank) const { return stops_.at(place).contains(rank); }
    void stopped(StopPlace place, Rank rank, const Bytes &breakpoint);
    // A process of this host has ended.
    void ended(Rank rank);
    void on_stopped(HostIndex from, const wire::RanksStopped &message);
    void on_host_gone(HostIndex host);
    // Another host has told that all had stopped: whoever takes over from it does not tell again.
    void was_told(StopPlace place) { places_[static_cast<std::size_t>(place)].told = true; }

  private:
    struct Place {
        std::set<HostIndex> hosts;   // that have who shall stop; those that are left
        std::set<Rank> missing;      // of this host
        wire::RanksStopped own;      // of this host
        RankRanges stopped;          // where this host gathers: of all
        Bytes breakpoint;            // likewise
        std::set<HostIndex> waiting; // hosts that have not said so
        bool said = false, told = false;
    };
    void say(std::size_t place);
    void gather(std::size_t place, HostIndex from, const wire::RanksStopped &message);
    void judge(std::size_t place);

    HostPort &hosts_;
    StopPort &port_;
    const JobMap &map_;
    HostIndex self_;
    DebugStops stops_;
    std::array<Place, stop_place_count> places_;
};

} // namespace pmixhost
