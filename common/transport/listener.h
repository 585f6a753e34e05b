// The daemon's TCP listener: IPv6 and IPv4 in one socket where the kernel has IPv6, on a port of
// the configured range. Accepts and hands over, 64 at most before the loop goes on with other things; who the
// stranger is, the mesh finds out.
#pragma once

#include "common/base/unique_fd.h"
#include "common/config/settings.h"
#include "common/loop/event_loop.h"
#include "common/peer/peer_address.h"

namespace pmixhost {

class Listener {
  public:
    using OnAccept = std::function<void(UniqueFd, const PeerAddress &from)>;
    static Result<std::unique_ptr<Listener>> open(EventLoop &loop, PortRange ports, OnAccept on_accept);
    std::uint16_t port() const { return port_; }

  private:
    Listener(UniqueFd fd, std::uint16_t port) : fd_(std::move(fd)), port_(port) {}
    void watch(EventLoop &loop);
    UniqueFd fd_;
    std::uint16_t port_;
    OnAccept on_accept_;
    EventLoop::Handle watch_;
};

} // namespace pmixhost
