// Pairs of connected descriptors. Header-only, because the shims of RMs use it too. Any thread; an error is that of
// the system call.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

using FdPair = std::pair<UniqueFd, UniqueFd>;

// Close-on-exec. The first is read from, the second written to.
inline Result<FdPair> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("pipe", errno);
    return FdPair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

// Close-on-exec, AF_UNIX. `flags` may be SOCK_NONBLOCK.
inline Result<FdPair> make_socket_pair(int type = SOCK_STREAM, int flags = 0) {
    int ends[2];
    if (::socketpair(AF_UNIX, type | flags | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("socketpair", errno);
    return FdPair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

} // namespace pmixhost
