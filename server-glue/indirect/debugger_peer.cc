// See debugger_peer.h.
#include "server-glue/indirect/debugger_peer.h"

#include "common/peer/socket_owner.h"
#include "common/text/printable.h"

#include <charconv>
#include <filesystem>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace pmixhost::indirect {

namespace {

// Of the other end; 0: none.
std::uint16_t peer_port(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(reinterpret_cast<sockaddr_in &>(address).sin_port);
    return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6 &>(address).sin6_port) : 0;
}

std::uint16_t port_of(std::string_view uri) {
    std::uint16_t port = 0;
    std::string_view digits = uri.substr(uri.rfind(':') + 1);
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return code == std::errc() && end == digits.data() + digits.size() ? port : 0;
}

std::vector<int> connections_to(std::uint16_t port) {
    std::vector<int> all;
    std::error_code failed;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
        int fd = -1;
        std::string name = entry.path().filename();
        std::from_chars(name.data(), name.data() + name.size(), fd);
        if (peer_port(fd) == port)
            all.push_back(fd);
    }
    return all;
}

} // namespace

Result<void> check_debugger(std::string_view uri) {
    std::uint16_t port = port_of(uri);
    if (port == 0)
        return error(ErrorKind::invalid, "PMIX_LAUNCHER_RNDZ_URI is '{}', which ends with no port", printable(uri));
    auto owners = SocketOwners::open();
    if (!owners)
        return owners.failure();
    auto connections = connections_to(port);
    for (int fd : connections) {
        auto owner = owners->peer_of(fd);
        if (!owner)
            return error(ErrorKind::denied, "whose the debugger at {} is cannot be told: {}", printable(uri),
                         owner.failure().text);
        if (owner->uid != ::geteuid() && owner->uid != 0)
            return error(ErrorKind::denied, "at {} there is a process of uid {}, and no debugger of yours",
                         printable(uri), owner->uid);
    }
    if (connections.empty())
        return error(ErrorKind::unreachable, "there is no connection to a debugger at {}", printable(uri));
    return {};
}

bool debugger_is_connected(std::string_view uri) {
    return !connections_to(port_of(uri)).empty();
}

} // namespace pmixhost::indirect
