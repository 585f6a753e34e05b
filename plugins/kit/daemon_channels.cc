// See daemon_channels.h.
#include "plugins/kit/daemon_channels.h"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

Result<StatusPage *> make_status_page(UniqueFd &fd) {
    fd.reset(memfd_create("pmixhost-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ftruncate(fd.get(), StatusPage::size) != 0 ||
        fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return system_error("status page", errno);
    void *memory = mmap(nullptr, StatusPage::size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        return system_error("status page", errno);
    return static_cast<StatusPage *>(memory);
}

} // namespace pmixhost::kit
