// How soon the end of a host is noticed that is at the other end of a TCP connection, and says nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace pmixhost {

// Three probes that go unanswered, or data that stays unacknowledged: gone, in about this time.
inline void keep_alive(int fd, std::chrono::milliseconds dead_after) {
    int on = 1, probes = 3, interval = std::max(static_cast<int>(dead_after.count() / 4000), 1);
    auto ms = static_cast<unsigned>(dead_after.count());
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

} // namespace pmixhost
