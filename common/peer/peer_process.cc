// See peer_process.h.
#include "common/peer/peer_process.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace pmixhost {

#ifdef SO_PEERPIDFD
static constexpr int peer_pidfd_option = SO_PEERPIDFD;
#else
static constexpr int peer_pidfd_option = 77; // asm-generic/socket.h, which most architectures use
#endif

static bool peer_has_closed(int socket) {
    pollfd state{socket, POLLRDHUP, 0};
    return ::poll(&state, 1, 0) != 0;
}

Result<UniqueFd> peer_pidfd(int socket, pid_t pid, PeerLookup lookup) {
    auto ended = [pid] { return error(ErrorKind::not_found, "process {} has ended", pid); };
    if (lookup == PeerLookup::by_kernel) {
        int number = -1;
        socklen_t length = sizeof number;
        if (::getsockopt(socket, SOL_SOCKET, peer_pidfd_option, &number, &length) == 0) {
            UniqueFd fd(number);
            fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
            if (is_reaped(fd.get()))
                return ended();
            return fd;
        }
        if (errno == ESRCH)
            return ended();
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            return system_error("SO_PEERPIDFD", errno);
    }
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!fd)
        return errno == ESRCH ? ended() : system_error("pidfd_open", errno);
    if (peer_has_closed(socket))
        return error(ErrorKind::not_found, "process {} has closed its connection", pid);
    return fd;
}

bool is_reaped(int pidfd) {
    return syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) != 0 && errno == ESRCH;
}

} // namespace pmixhost
