// See hello_peek.h.
#include "server-glue/guard/hello_peek.h"

#include "server-glue/guard/hello.h"

#include <poll.h>
#include <string_view>
#include <sys/socket.h>

namespace pmixhost {

void set_low_water(int fd, std::size_t bytes) {
    int value = static_cast<int>(bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value);
}

bool peer_is_through(int fd) {
    pollfd poll{fd, POLLRDHUP, 0};
    return ::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void await_hello(int fd) {
    set_low_water(fd, hello_header_size);
}

Result<std::optional<std::string>> peek_hello(int fd) {
    char bytes[max_hello];
    ssize_t there = ::recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    std::string_view message(bytes, there > 0 ? static_cast<std::size_t>(there) : 0);
    std::size_t wanted = hello_header_size;
    if (message.size() >= wanted) {
        auto size = hello_size(message);
        if (!size)
            return size.failure();
        wanted = *size;
    }
    if (message.size() >= wanted)
        return {std::string(message.substr(0, wanted))};
    if (there == 0 || peer_is_through(fd))
        return error(ErrorKind::unreachable, "it has gone");
    set_low_water(fd, wanted);
    return {std::nullopt};
}

} // namespace pmixhost
