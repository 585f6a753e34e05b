// See gate_knock.h.
#include "tools/view/gate_knock.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>

namespace pmixhost {

Result<UniqueFd> knock_at_gate(const std::string &directory, std::chrono::seconds patience) {
    const std::string path = gate_door_path(directory);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!fd || path.size() >= sizeof address.sun_path)
        return system_error(path, fd ? ENAMETOOLONG : errno);
    path.copy(address.sun_path, path.size());
    timeval limit{patience.count(), 0}; // for a gate with a long line
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
        return {std::move(fd)};
    if (errno == ECONNREFUSED) // one that was killed has left it
        return error(ErrorKind::unreachable, "{}: {}", path, std::strerror(ECONNREFUSED));
    return system_error(path, errno);
}

Result<Refusals> ask_for_own_refusals(const std::string &directory, std::chrono::seconds patience) {
    auto door = knock_at_gate(directory, patience);
    if (!door)
        return door.failure();
    timeval limit{patience.count(), 0};
    ::setsockopt(door->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::send(door->get(), asks_for_refusals.data(), asks_for_refusals.size(), MSG_NOSIGNAL) < 0)
        return system_error("the gate", errno);
    char bytes[4096];
    ssize_t there = ::recv(door->get(), bytes, sizeof bytes, 0);
    if (there < 0)
        return errno == EAGAIN ? error(ErrorKind::timeout, "the gate has not answered within {} s", patience.count())
                               : system_error("the gate", errno);
    if (there == 0)
        return error(ErrorKind::system, "the gate has closed the connection without a word");
    return parse_refusals({bytes, static_cast<std::size_t>(there)});
}

} // namespace pmixhost
