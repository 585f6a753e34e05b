// See listener.h.
#include "common/transport/listener.h"

#include "common/base/no_room.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

namespace pmixhost {

static constexpr int backlog = 4096; // the kernel takes what its own limit allows
static constexpr int batch = 64;

static Result<UniqueFd> bind_one(int family, std::uint16_t port) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return system_error("socket", errno);
    int off = 0, on = 1, rc;
    // A port is free again as soon as nobody listens on it: connections of a step that has ended
    // linger in the kernel for a minute, and would use up a small range.
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) {
        setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        sockaddr_in6 any{};
        any.sin6_family = AF_INET6;
        any.sin6_port = htons(port);
        rc = ::bind(fd.get(), reinterpret_cast<sockaddr *>(&any), sizeof any);
    } else {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(port);
        rc = ::bind(fd.get(), reinterpret_cast<sockaddr *>(&any), sizeof any);
    }
    if (rc != 0)
        return system_error("bind", errno);
    if (::listen(fd.get(), backlog) != 0)
        return system_error("listen", errno);
    return fd;
}

static Result<UniqueFd> bind_any_family(std::uint16_t port) {
    auto fd = bind_one(AF_INET6, port);
    if (!fd && fd.failure().text.find("in use") == std::string::npos)
        fd = bind_one(AF_INET, port);
    return fd;
}

Result<std::unique_ptr<Listener>> Listener::open(EventLoop &loop, PortRange ports, OnAccept on_accept) {
    Result<UniqueFd> fd = error(ErrorKind::limit, "no port tried");
    if (ports.first == 0) {
        fd = bind_any_family(0);
    } else {
        // From a random start, so that the daemons of one host do not all try the same ports.
        std::uint32_t count = static_cast<std::uint32_t>(ports.last - ports.first) + 1;
        std::uint32_t start = 0;
        [[maybe_unused]] ssize_t n = getrandom(&start, sizeof start, 0);
        for (std::uint32_t i = 0; i < count && !fd; ++i)
            fd = bind_any_family(static_cast<std::uint16_t>(ports.first + (start + i) % count));
    }
    if (!fd)
        return error(ErrorKind::limit, "cannot listen on a port of {}-{} (transport.ports): {}", ports.first,
                     ports.last, fd.failure().text);
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (getsockname(fd->get(), reinterpret_cast<sockaddr *>(&own), &length) != 0)
        return system_error("getsockname", errno);
    std::uint16_t port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&own)->sin6_port
                                                         : reinterpret_cast<sockaddr_in *>(&own)->sin_port);
    std::unique_ptr<Listener> listener(new Listener(std::move(*fd), port));
    listener->on_accept_ = std::move(on_accept);
    listener->watch(loop);
    return listener;
}

void Listener::watch(EventLoop &loop) {
    watch_ = loop.watch(fd_.get(), EventLoop::readable, [this, &loop](unsigned) {
        for (int i = 0; i < batch; ++i) {
            PeerAddress from;
            UniqueFd peer = accept_from(fd_.get(), from);
            if (!peer && is_no_room(errno)) {
                // No descriptor is free: look again later, rather than be woken for ever.
                watch_ = loop.after(std::chrono::milliseconds(100), [this, &loop] { watch(loop); });
                return;
            }
            if (!peer)
                return;
            on_accept_(std::move(peer), from);
        }
    });
}

} // namespace pmixhost
