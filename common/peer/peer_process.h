// The process at the other end of a local socket, by a pidfd: its pid alone may belong to another one by the
// time somebody looks.
//
// Newer kernels (6.5) give the pidfd of the very process that connected. Of others it is opened by the pid, and
// believed only if the connection is still open afterwards: so the process that made it lives, unless it has
// handed the connection on to a process that outlived it.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <sys/types.h>

namespace pmixhost {

enum class PeerLookup { by_kernel, by_pid }; // by_pid: as on a kernel that does not know better

// `socket`: a connected AF_UNIX stream. `pid`: what SO_PEERCRED tells. Fails (not_found) when that process has
// ended, or when nobody can tell any more whether the pid is still its own.
Result<UniqueFd> peer_pidfd(int socket, pid_t pid, PeerLookup lookup = PeerLookup::by_kernel);

// Has the process of this pidfd ended and been waited for? Its pid may be given to another one then.
bool is_reaped(int pidfd);

} // namespace pmixhost
