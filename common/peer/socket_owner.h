// Says which user the other end of a TCP connection on this host belongs to. The kernel knows the uid of the process
// that made a socket; what the peer says of itself is not looked at.
//
// The kernel is asked by NETLINK_SOCK_DIAG (sock_diag(7)), which needs no privilege and does not
// wait; where it has no such service (modules that cannot be loaded, some sandboxes) its table
// /proc/self/net/tcp is read instead, which costs more and says the same.
//
// Only an established connection has an owner: one that its maker has closed shows uid 0 or is not
// found, and a search for it may find a stranger's listening socket of the same port instead.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

struct SocketOwner {
    uid_t uid = 0;
    std::uint64_t inode = 0; // of the peer's socket, as /proc/PID/fd shows it
};

class SocketOwners {
  public:
    // Fails (system) when neither way works here.
    static Result<SocketOwners> open();

    // The owner of the peer of `connection`, an accepted IPv4 or IPv6 connection of this process.
    // not_found: the peer has closed, or is not a socket of this host and network namespace.
    Result<SocketOwner> peer_of(int connection);

  private:
    SocketOwners() = default;
    UniqueFd diag_; // empty: the table is read
};

// The process that holds the socket, for a line in a log: of the processes that may be looked into, which for
// an ordinary user are his own. Looks at a bounded number of processes and descriptors.
std::optional<pid_t> holder_of(const SocketOwner &socket);

// Both addresses of a connection in the kernel's own form, seen from the one whose owner is sought.
struct TcpEnds {
    bool ipv6 = false;
    std::uint32_t local[4]{}, remote[4]{};         // network byte order; IPv4: the first word
    std::uint16_t local_port = 0, remote_port = 0; // host byte order
};

// A line of /proc/net/tcp or tcp6: its owner if it is the established connection `ends`. Pure.
bool owner_in_table_line(std::string_view line, const TcpEnds &ends, SocketOwner &owner);

} // namespace pmixhost
