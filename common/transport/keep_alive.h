// How soon the end of a host is noticed that is at the other end of a TCP connection, and says nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace pmixhost {

// Three probes that go unanswered: gone, in about this time. Only while nothing is on its way to it; else the kernel
// sends that again for as long as it is set to (tcp_retries2 of tcp(7)). TCP_USER_TIMEOUT would be sooner there, but
// would also end a connection whose other end is there and does not read for so long.
inline void keep_alive(int fd, std::chrono::milliseconds dead_after) {
    int on = 1, probes = 3, interval = std::max(static_cast<int>(dead_after.count() / 4000), 1);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

} // namespace pmixhost
