// See starter_listener.h.
#include "plugins/kit/starter_listener.h"

#include "common/base/poll_time.h"
#include "common/transport/offered_addresses.h"
#include <algorithm>
#include <cerrno>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_connections = 64;
constexpr int backlog = 4096;

Result<UniqueFd> bind_dual(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd) {
        int off = 0;
        setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_addr = in6addr_any;
        address.sin6_port = htons(port);
        if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
            return fd;
        if (errno == EADDRINUSE)
            return system_error("bind", errno);
    }
    // No IPv6 on this host.
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return system_error("socket", errno);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        return system_error("bind", errno);
    return fd;
}

// Numeric addresses of this host that another host may reach, at most `max_addresses`; the loopback if it is alone.
std::vector<std::string> own_addresses() {
    std::vector<std::string> v4, v6, loopback;
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0)
        return {"127.0.0.1"};
    for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
            continue;
        char text[INET6_ADDRSTRLEN];
        bool is_loopback = entry->ifa_flags & IFF_LOOPBACK;
        if (entry->ifa_addr->sa_family == AF_INET) {
            auto *address = reinterpret_cast<sockaddr_in *>(entry->ifa_addr);
            if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text))
                (is_loopback ? loopback : v4).emplace_back(text);
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            auto *address = reinterpret_cast<sockaddr_in6 *>(entry->ifa_addr);
            if (!is_loopback && !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) &&
                inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text))
                v6.emplace_back(text);
        }
    }
    freeifaddrs(list);
    if (v4.empty() && v6.empty())
        v4 = std::move(loopback);
    return offered_addresses(std::move(v4), std::move(v6), max_addresses);
}

} // namespace

FrameProgress StarterConnection::receive() {
    char buffer[4096];
    if (FrameProgress progress = frame_progress(bytes_); progress != FrameProgress::more)
        return progress;
    for (;;) {
        ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? FrameProgress::more : FrameProgress::bad;
        if (n == 0)
            return FrameProgress::bad;
        bytes_.append(buffer, static_cast<std::size_t>(n));
        if (FrameProgress progress = frame_progress(bytes_); progress != FrameProgress::more)
            return progress;
    }
}

std::string StarterConnection::take_frame() {
    std::string frame = bytes_.substr(0, frame_size(bytes_));
    bytes_.erase(0, frame.size());
    return frame;
}

Result<StarterListener> StarterListener::open(PortRange range) {
    StarterListener listener;
    if (getrandom(listener.cookie_.data(), listener.cookie_.size(), 0) != static_cast<ssize_t>(listener.cookie_.size()))
        return system_error("getrandom", errno);
    if (range.first == 0) {
        auto socket = bind_dual(0);
        if (!socket)
            return socket.failure();
        listener.socket_ = std::move(*socket);
    } else {
        // Each starter begins at a place of its own in the range, so that many do not all try the same ports.
        std::uint32_t width = range.last < range.first ? 1u : range.last - range.first + 1u;
        std::uint32_t start = listener.cookie_[0] << 8 | listener.cookie_[1];
        for (std::uint32_t i = 0; i < width && !listener.socket_; ++i) {
            auto socket = bind_dual(static_cast<std::uint16_t>(range.first + (start + i) % width));
            if (socket)
                listener.socket_ = std::move(*socket);
        }
        if (!listener.socket_)
            return error(ErrorKind::limit, "no free port from {} to {}", range.first, range.last);
        // The cookie's start is visible in the port number: that part is drawn again.
        if (getrandom(listener.cookie_.data(), listener.cookie_.size(), 0) !=
            static_cast<ssize_t>(listener.cookie_.size()))
            return system_error("getrandom", errno);
    }
    if (::listen(listener.socket_.get(), backlog) != 0)
        return system_error("listen", errno);
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getsockname(listener.socket_.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return system_error("getsockname", errno);
    listener.port_ = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port
                                                         : reinterpret_cast<sockaddr_in *>(&address)->sin_port);
    return listener;
}

StarterAddress StarterListener::address() const {
    return {port_, cookie_, own_addresses()};
}

std::optional<StarterConnection> StarterListener::accept() {
    PeerAddress from;
    UniqueFd fd = accept_from(socket_.get(), from);
    if (!fd)
        return std::nullopt;
    return StarterConnection(std::move(fd), from);
}

std::optional<ExitReport> StarterListener::collect(Sealer &sealer, std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    std::vector<StarterConnection> connections;
    std::size_t taken = 0;
    for (;;) {
        while (taken < max_connections) {
            auto connection = accept();
            if (!connection)
                break;
            ++taken;
            connections.push_back(std::move(*connection));
        }
        for (std::size_t i = 0; i < connections.size();) {
            FrameProgress progress = connections[i].receive();
            if (progress == FrameProgress::more) {
                ++i;
                continue;
            }
            std::string bytes = progress == FrameProgress::whole ? connections[i].take_frame() : "";
            connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i));
            if (progress != FrameProgress::whole)
                continue;
            auto message = open_message(bytes, cookie_, geteuid(), sealer);
            auto report = message ? ExitReport::of(std::move(*message)) : message.failure();
            if (report)
                return std::move(*report);
        }
        int wait = poll_time(deadline);
        if (connections.empty() || wait == 0)
            return std::nullopt;
        std::vector<pollfd> polls;
        for (const auto &connection : connections)
            polls.push_back({connection.fd(), POLLIN, 0});
        ::poll(polls.data(), polls.size(), wait);
    }
}

} // namespace pmixhost::kit
