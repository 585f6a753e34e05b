// What a stranger may send along to keep whoever gives it up.
#pragma once

#include "common/base/unique_fd.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

#include "test/unit/check.h"

namespace pmixhost {

// A TCP connection whose other end reads nothing, and that takes 30 s to close.
struct Lingering {
    UniqueFd end, other;
    Lingering() {
        UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto *where = reinterpret_cast<sockaddr *>(&address);
        assert_int_equal(::bind(listener.get(), where, size), 0);
        assert_int_equal(::listen(listener.get(), 1), 0);
        assert_int_equal(::getsockname(listener.get(), where, &size), 0);
        end.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        assert_int_equal(::connect(end.get(), where, size), 0);
        other.reset(::accept(listener.get(), nullptr, nullptr));
        char bytes[65536] = {};
        while (::send(end.get(), bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            continue;
        assert_int_equal(errno, EAGAIN);
        linger wait{1, 30};
        assert_int_equal(::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    }
};

} // namespace pmixhost
