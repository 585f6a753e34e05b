// See daemon_channels.h.
#include "plugins/kit/daemon_channels.h"

#include <cerrno>
#include <cstddef>

#include <sys/socket.h>
#include <sys/un.h>

namespace pmixhost::kit {

static constexpr int door_backlog = 4096;

Result<UniqueFd> make_task_door(std::string &name) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd)
        return system_error("task door", errno);
    // A bare family makes the kernel choose a free abstract name.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t length = sizeof address.sun_family;
    if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 || ::listen(fd.get(), door_backlog) != 0)
        return system_error("task door", errno);
    length = sizeof address;
    if (getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return system_error("task door", errno);
    name.assign(address.sun_path, length - offsetof(sockaddr_un, sun_path));
    return fd;
}

} // namespace pmixhost::kit
