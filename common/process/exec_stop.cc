// See exec_stop.h.
#include "common/process/exec_stop.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

Result<UniqueFd> arm_exec_stop() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("pipe", errno);
    UniqueFd watched(ends[0]), closed_by_exec(ends[1]);
    f_owner_ex self{F_OWNER_PID, ::getpid()};
    if (::fcntl(watched.get(), F_SETSIG, SIGSTOP) != 0 || ::fcntl(watched.get(), F_SETOWN_EX, &self) != 0 ||
        ::fcntl(watched.get(), F_SETFL, O_ASYNC | O_NONBLOCK) != 0)
        return system_error("fcntl", errno);
    closed_by_exec.release();
    return watched;
}

bool is_armed(int fd) {
    struct stat what {};
    return ::fstat(fd, &what) == 0 && S_ISFIFO(what.st_mode);
}

} // namespace pmixhost
