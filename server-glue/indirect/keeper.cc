// See keeper.h.
#include "server-glue/indirect/keeper.h"

#include "common/base/fd_pair.h"

#include <climits>
#include <csignal>
#include <filesystem>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost::indirect {

namespace {

constexpr int channel_here = 0, launcher_here = 1;

// It must hold nothing at whose end somebody waits: the launcher's channel, its input and output. False: it may.
bool keep_alone(int channel, int launcher) {
    int high = ::fcntl(channel, F_DUPFD, 2), other = launcher < 0 ? -1 : ::fcntl(launcher, F_DUPFD, 2);
    if (high < 0 || ::dup2(high, channel_here) < 0)
        return false;
    if (other < 0 || ::dup2(other, launcher_here) < 0)
        ::close(launcher_here);
    if (::syscall(SYS_close_range, 2, UINT_MAX, 0) != 0) {
        for (int fd = 2; fd < 4096; ++fd) // before Linux 5.9
            ::close(fd);
    }
    return true;
}

} // namespace

Result<Keeper> Keeper::start(const std::string &directory, const UniqueFd &launcher) {
    auto pipe = make_pipe();
    if (!pipe)
        return pipe.failure();
    pid_t pid = ::fork();
    if (pid < 0)
        return system_error("fork", errno);
    if (pid > 0)
        return Keeper(std::move(pipe->second));
    if (!keep_alone(pipe->first.get(), launcher.get()))
        ::_exit(1);
    char last = static_cast<char>(Launcher::ends), next = 0;
    for (ssize_t got; (got = ::read(channel_here, &next, 1)) != 0;) {
        if (got > 0)
            last = next;
        else if (errno != EINTR)
            break;
    }
    if (last == static_cast<char>(Launcher::ends))
        ::syscall(SYS_pidfd_send_signal, launcher_here, SIGTERM, nullptr, 0); // in vain where there is none
    remove_own_directory(directory);
    ::_exit(0);
}

void remove_own_directory(const std::string &path) {
    struct stat now {};
    std::error_code ignored;
    if (::lstat(path.c_str(), &now) == 0 && S_ISDIR(now.st_mode) && now.st_uid == ::geteuid())
        std::filesystem::remove_all(path, ignored);
}

void Keeper::when_killed(Launcher what) {
    const char word = static_cast<char>(what);
    // A word a change, which is read at once: the pipe is never full.
    [[maybe_unused]] ssize_t written = ::write(channel_.get(), &word, 1);
}

} // namespace pmixhost::indirect
