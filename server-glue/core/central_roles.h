// The roles of pmixhostd that serve many steps or many hosts, and how a step's daemon names them.
//
//   session    one per allocation: what must be known across steps (published data, operations over
//              several namespaces). Started when the first daemon wants it.
//   launcher   one per launcher of the RM (srun, pmixhost run), beside it: starts new jobs for it.
//
// To a step's daemon each is one more peer of its mesh, numbered after the hosts of the step; the connection is made
// when something is first sent there. The step's daemon listens, the role dials: RmRoles::reach brings it the
// invitation (common/transport/invitation.h).
#pragma once

#include "common/job/job_map.h"

#include <string_view>

namespace pmixhost {

enum class CentralRole : std::uint8_t { session = 0, launcher = 1 };

inline constexpr HostIndex central_role_count = 2;
constexpr HostIndex peer_of(CentralRole role, HostIndex host_count) {
    return host_count + static_cast<HostIndex>(role);
}
// The text that the session has the RM's backend bring to a step's daemon, in place of a contact message: the daemon
// shall invite the session.
inline constexpr std::string_view session_call = "pmixhost: the session calls";

// How the text begins that a desk (server-glue/desk/desk_server.h) has brought to a step's daemon; an encoded
// wire::DeskCall follows. The desk is no peer of the step's mesh: it has one of its own with each daemon.
inline constexpr std::string_view desk_call = "pmixhost: a desk calls: ";

constexpr const char *name_of(CentralRole role) {
    return role == CentralRole::session ? "session" : "launcher";
}

} // namespace pmixhost
