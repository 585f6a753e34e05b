// A TCP connection to a numeric address, begun without waiting for it.
#pragma once

#include "common/base/unique_fd.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace pmixhost {

// Returns the socket, which becomes writable when the connection is made or has failed (SO_ERROR). It is empty when
// `address` is no IPv4 or IPv6 address, or when the attempt fails at once; errno says why. Any thread.
inline UniqueFd begin_connect(const std::string &address, std::uint16_t port) {
    sockaddr_storage storage{};
    socklen_t length = 0;
    auto *v4 = reinterpret_cast<sockaddr_in *>(&storage);
    auto *v6 = reinterpret_cast<sockaddr_in6 *>(&storage);
    if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        length = sizeof *v4;
    } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        length = sizeof *v6;
    } else {
        errno = EINVAL;
        return {};
    }
    UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), reinterpret_cast<sockaddr *>(&storage), length) != 0 && errno != EINPROGRESS) {
        int why = errno;
        fd.reset();
        errno = why;
    }
    return fd;
}

} // namespace pmixhost
