// The process at the other end of a local socket, as a pidfd: by the time somebody looks, its pid may belong to
// another process.
//
// Newer kernels (6.5) give the pidfd of the very process that connected. On older ones it is opened by the pid, and
// believed only if the connection is still open afterwards: then the process that made it still lives, unless it has
// handed the connection on to a process that outlived it.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <sys/types.h>

namespace pmixhost {

enum class PeerLookup { by_kernel, by_pid }; // by_pid: as on a kernel that does not know better

// `socket`: a connected AF_UNIX stream. `pid`: what SO_PEERCRED tells. Any thread. Fails (not_found) when that
// process has ended, or when nobody can tell any more whether the pid is still its own.
Result<UniqueFd> peer_pidfd(int socket, pid_t pid, PeerLookup lookup = PeerLookup::by_kernel);

// Has the process of this pidfd ended and been waited for? Its pid may be given to another one then.
bool is_reaped(int pidfd);

} // namespace pmixhost
