// A facet of the RM's backend (rm_backend.h): the way to the central roles (core/central_roles.h), the session of
// the allocation and the launcher. Without it nothing can be published, connected or spawned.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"
#include "server-glue/core/central_roles.h"

#include <functional>
#include <string>

namespace pmixhost {

class RmRoles {
  public:
    virtual ~RmRoles() = default;
    // Brings an encoded Invitation (common/transport/invitation.h) to the process of a central role. A process that
    // does not run is started, though not before `start_after`, because another daemon may have been asked to do it.
    // The backend retries until `deadline`. Errors: unsupported (this role), unreachable, timeout.
    virtual void reach(CentralRole role, std::string invitation, TimePoint start_after, TimePoint deadline,
                       std::function<void(Result<void>)> done) = 0;
    // Can the session reach steps that do not know of it (InvitationSource::call_steps)? Otherwise they come to it by
    // themselves. Always the same answer.
    virtual bool calls_steps() const = 0;
};

} // namespace pmixhost
