// See session_door.h.
#include "tools/run/session_door.h"

#include "common/transport/invitation.h"

#include <cerrno>
#include <cstring>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::size_t max_visitors = 64;
constexpr int backlog = 128;

// Abstract: the first byte is NUL, and the length counts.
Result<socklen_t> address_of(const std::string &name, sockaddr_un &address) {
    address = {};
    address.sun_family = AF_UNIX;
    if (name.empty() || name.size() > sizeof address.sun_path - 1)
        return error(ErrorKind::invalid, "'{}' is no name of a socket", name.substr(0, 80));
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool of_this_user(int fd) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

} // namespace

SessionDoor::SessionDoor(EventLoop &loop, UniqueFd fd, std::string name, std::function<void(std::string)> on_invitation)
    : loop_(loop), fd_(std::move(fd)), name_(std::move(name)), on_invitation_(std::move(on_invitation)) {
    watch_ = loop_.watch(fd_.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

Result<std::unique_ptr<SessionDoor>> SessionDoor::open(EventLoop &loop,
                                                       std::function<void(std::string invitation)> on_invitation) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random)
        return system_error("random numbers", errno);
    std::string name = fmt::format("pmixhost-session-{}-{:016x}", ::geteuid(), random);
    sockaddr_un address;
    auto length = address_of(name, address);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), *length) != 0 ||
        ::listen(fd.get(), backlog) != 0)
        return system_error("the socket for invitations", errno);
    return std::unique_ptr<SessionDoor>(
        new SessionDoor(loop, std::move(fd), std::move(name), std::move(on_invitation)));
}

void SessionDoor::accept() {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd || !of_this_user(fd.get()))
        return;
    if (visitors_.size() >= max_visitors)
        visitors_.pop_front();
    auto visitor = visitors_.emplace(visitors_.end());
    visitor->fd = std::move(fd);
    visitor->watch = loop_.watch(visitor->fd.get(), EventLoop::readable, [this, visitor](unsigned) { read(visitor); });
}

void SessionDoor::read(std::list<Visitor>::iterator visitor) {
    char buffer[Invitation::max_bytes + 1];
    ssize_t n = ::recv(visitor->fd.get(), buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        visitor->bytes.append(buffer, static_cast<std::size_t>(n));
        if (visitor->bytes.size() <= Invitation::max_bytes)
            return;
    }
    std::string message = n == 0 ? std::move(visitor->bytes) : std::string();
    visitors_.erase(visitor);
    if (!message.empty())
        on_invitation_(std::move(message));
}

Result<void> send_to_session_door(const std::string &name, const std::string &invitation) {
    sockaddr_un address;
    auto length = address_of(name, address);
    if (!length)
        return length.failure();
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), *length) != 0)
        return error(ErrorKind::unreachable, "the pmixhost run that began this job is not there: {}",
                     std::strerror(errno));
    if (!of_this_user(fd.get()))
        return error(ErrorKind::denied, "{} names the socket of another user", session_door_variable);
    if (::send(fd.get(), invitation.data(), invitation.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(invitation.size()))
        return system_error("the socket for invitations", errno);
    return {};
}

} // namespace pmixhost
