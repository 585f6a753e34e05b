// The TCP sockets of a host as /proc/net/tcp and tcp6 list them, so that a descriptor of a daemon can
// be shown with both addresses and with what lies in its queues: data that waits unread at a daemon
// that stands still is what its peers wait for. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pmixhost {

class SocketList {
  public:
    // Takes in the text of one such file; lines of other forms are passed over.
    void add(std::string_view text, bool version_6);
    // "TCP 10.0.0.1:4000 to 10.0.0.2:51000, established, 0 bytes unread, 512 bytes unsent"; empty: it is
    // not in the list.
    std::string describe(std::uint64_t inode) const;

  private:
    std::map<std::uint64_t, std::string> by_inode_;
};

} // namespace pmixhost
