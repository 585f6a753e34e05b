// Who has stopped for a debugger: each host counts its own processes, and tells the first host that has some which
// shall stop at that place when none of them is missing any more. That one tells when all hosts have said so. Who has
// ended, before or while it was stopped, is not waited for, and a lost host neither. When the first host has gone, the
// next one takes over, and is told again.
//
// A program may come to such a place more than once (PMIX_BREAKPOINT names which it is). The standard does not say how
// often its host counts, so it counts rounds: who has been let go and stops once more is in its second one, and that is
// told when all who live have stopped twice. Pure: what it needs of its surroundings are the ports.
#pragma once

#include "common/job/debug_stops.h"
#include "common/job/job_map.h"
#include "common/wire/debug_messages.h"
#include "server-glue/core/host_port.h"

#include <map>
#include <set>

namespace pmixhost {

class StopPort {
  public:
    virtual ~StopPort() = default;
    // Only on one host, once for each round of a place (again where that one is lost before the others have heard of
    // it): all who shall stop there have, as far as they live. Not called when none of them has.
    // `round`: how often each of them has stopped there, at least.
    virtual void all_stopped(StopPlace place, std::uint32_t round, const Bytes &breakpoint,
                             const RankRanges &ranks) = 0;
};

class StopBoard {
  public:
    StopBoard(HostPort &hosts, StopPort &port, const JobMap &map, HostIndex self, const DebugStops &stops);

    // Shall that process of this host stop there?
    bool is_wanted(StopPlace place, Rank rank) const { return stops_.at(place).contains(rank); }
    // A process of this host stands there. Does nothing where it does already, as far as it was heard that it was let
    // go, and for one that need not stop.
    void stopped(StopPlace place, Rank rank, const Bytes &breakpoint);
    // A process of this host is let go, from wherever it stands.
    void released(Rank rank);
    // Nobody lets go any more: each that comes to stand is to be let go at once, as is_left_alone() says.
    void leave_alone() { is_left_alone_ = true; }
    bool is_left_alone() const { return is_left_alone_; }
    // A process of this host has ended.
    void ended(Rank rank);
    void on_stopped(HostIndex from, const wire::RanksStopped &message);
    void on_host_gone(HostIndex host);
    // A host, which may be this one, has told that all had stopped for that time, perhaps once more: whoever takes over
    // from it does not tell that round again.
    void was_told(StopPlace place, std::uint32_t round);

  private:
    static constexpr std::uint32_t no_more = UINT32_MAX; // round of a host whose processes have all ended
    struct Own {
        std::uint32_t stops = 0;
        bool stands = false;
    };
    struct Reached {
        std::uint32_t round = 0;
        Bytes breakpoint;
        RankRanges ranks;
    };
    struct Place {
        std::set<HostIndex> hosts;            // that have who shall stop; those that are left
        std::map<Rank, Own> own;              // of this host, who shall stop and live
        Bytes breakpoint;                     // of who has stopped last here
        std::uint32_t said = 0;               // the round that this host has come to
        std::uint32_t told = 0;               // the last one of which all were told
        std::set<HostIndex> waiting;          // where this host gathers: hosts that have not said the next round
        std::map<HostIndex, Reached> reached; // likewise: what the others have said
    };
    void look(std::size_t place);
    void say(std::size_t place);
    void gather(std::size_t place, HostIndex from, const wire::RanksStopped &message);
    void judge(std::size_t place);
    static void await_next(Place &place);

    HostPort &hosts_;
    StopPort &port_;
    const JobMap &map_;
    HostIndex self_;
    DebugStops stops_;
    std::array<Place, stop_place_count> places_;
    bool is_left_alone_ = false;
};

} // namespace pmixhost
