// Where a TCP connection comes from: the text for the log, and the source by which floods are told apart
// (stranger_limits.h). An IPv4 address is the same whether or not the socket is one of IPv6, and all of the
// loopback network is one source, as any user of this host may take any address of it.
#pragma once

#include "common/base/unique_fd.h"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace pmixhost {

class PeerAddress {
  public:
    PeerAddress() = default; // not known
    explicit PeerAddress(const sockaddr_storage &address) {
        if (address.ss_family == AF_INET6) {
            auto &v6 = reinterpret_cast<const sockaddr_in6 &>(address);
            std::memcpy(bytes_.data(), &v6.sin6_addr, 16);
            port_ = ntohs(v6.sin6_port);
        } else if (address.ss_family == AF_INET) {
            auto &v4 = reinterpret_cast<const sockaddr_in &>(address);
            bytes_[10] = bytes_[11] = 0xff;
            std::memcpy(bytes_.data() + 12, &v4.sin_addr, 4);
            port_ = ntohs(v4.sin_port);
        }
    }

    std::string source() const {
        in6_addr address = v6();
        if (IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && bytes_[12] == 127))
            return "loopback";
        return std::string(reinterpret_cast<const char *>(bytes_.data()), bytes_.size());
    }
    std::string numeric() const {
        in6_addr address = v6();
        char text[INET6_ADDRSTRLEN] = "";
        if (IN6_IS_ADDR_V4MAPPED(&address))
            inet_ntop(AF_INET, bytes_.data() + 12, text, sizeof text);
        else
            inet_ntop(AF_INET6, bytes_.data(), text, sizeof text);
        return text;
    }
    // "10.1.2.3 port 4711"
    std::string text() const { return numeric() + " port " + std::to_string(port_); }

  private:
    in6_addr v6() const {
        in6_addr address;
        std::memcpy(&address, bytes_.data(), 16);
        return address;
    }
    std::array<unsigned char, 16> bytes_{};
    std::uint16_t port_ = 0;
};

// Does what accept4(2) does, non-blocking and closed by exec; empty on failure, and errno tells why.
inline UniqueFd accept_from(int listener, PeerAddress &from) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr *>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd)
        from = PeerAddress(address);
    return fd;
}

} // namespace pmixhost
