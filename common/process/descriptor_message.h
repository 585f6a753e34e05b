// Bytes with a descriptor, or several, between two processes of this host (SCM_RIGHTS).
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

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

// The same for several descriptors, of which there are `most_descriptors` at most. A message that has more is a failure
// (invalid); with fewer than were sent, this process had no room for the others.
inline constexpr std::size_t most_descriptors = 2;
Result<void> send_descriptors(int channel, const std::string &bytes, std::initializer_list<int> with);
struct WithDescriptors {
    std::string bytes; // empty: the other end has closed
    std::vector<UniqueFd> fds;
};
Result<std::optional<WithDescriptors>> receive_descriptors(int channel, int flags);

} // namespace pmixhost
