// A facet of a lobby's backend (rm_backend.h): the lobby has no allocation of its own, so each job that its tool
// spawns is started in one of the user's, which the tool names or has asked for. There is one such place at a time:
// the jobs in it, and the lobby, meet in its session.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"
#include "server-glue/rm/allocations.h"

#include <functional>
#include <string>

namespace pmixhost {

class RmSpawnPlaces {
  public:
    virtual ~RmSpawnPlaces() = default;
    // Whether jobs of this user can be started in that allocation now. Errors: not_found (there is none, or it is
    // over), denied (it is another user's), exists (it has not begun), unsupported, unreachable, timeout.
    virtual void look_at(std::string allocation, TimePoint deadline, std::function<void(Result<RmAllocated>)> done) = 0;
    // From now on RmRoles::reach() leads to the session of this allocation, which was looked at or granted.
    virtual void enter(const RmAllocated &allocation) = 0;
};

} // namespace pmixhost
