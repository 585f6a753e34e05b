// Stands in for the daemon's TCP listener (bench_launch): one on each host, on a port of its own.
#pragma once

#include "common/base/unique_fd.h"
#include "common/config/settings.h"
#include "common/loop/event_loop.h"
#include "common/peer/peer_address.h"

namespace pmixhost {

class Listener {
  public:
    using OnAccept = std::function<void(UniqueFd, const PeerAddress &from)>;
    static Result<std::unique_ptr<Listener>> open(EventLoop &loop, PortRange, OnAccept on_accept);
    ~Listener();
    Listener(const Listener &) = delete;
    std::uint16_t port() const { return port_; }
    const OnAccept &on_accept() const { return on_accept_; }

  private:
    Listener(EventLoop &loop, std::uint16_t port, OnAccept on_accept)
        : loop_(loop), port_(port), on_accept_(std::move(on_accept)) {}
    EventLoop &loop_;
    std::uint16_t port_;
    OnAccept on_accept_;
};

} // namespace pmixhost
