// Bytes with a descriptor, between two processes of this host (SCM_RIGHTS).
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <optional>
#include <string>

namespace pmixhost {

inline constexpr std::size_t longest_with_descriptor = 4096;

// Does not wait. Fails as sendmsg(2) does. `with` stays the caller's.
Result<void> send_descriptor(int channel, const std::string &bytes, int with);
struct WithDescriptor {
    std::string bytes; // empty: the other end has closed
    UniqueFd fd;       // may be empty: there was none, or this process has no room for one
};
// Nothing: there is no message yet (EAGAIN, EINTR). Fails as recvmsg(2) does, and (invalid) for a message that has more
// than one descriptor: of these none stays, and the channel is to be closed.
Result<std::optional<WithDescriptor>> receive_descriptor(int channel, int flags);

} // namespace pmixhost
