// See user_terminal.h.
#include "server-glue/log/user_terminal.h"

#include "common/base/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// Has the task opened it so that each write goes to the end?
bool task_appends(pid_t pid, int number) {
    std::ifstream info(fmt::format("/proc/{}/fdinfo/{}", pid, number));
    std::string word;
    int flags = 0;
    while (info >> word && word != "flags:")
        continue;
    return info >> std::oct >> flags && (flags & O_APPEND) != 0;
}

// Of a file that the task does not append to, its next write would take the place of what stands behind its own. There
// the task's own open file is written to, whose position goes on (pidfd_getfd(2), which some systems refuse).
UniqueFd open_of_task(pid_t pid, int number) {
    UniqueFd fd(::open(fmt::format("/proc/{}/fd/{}", pid, number).c_str(),
                       O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat about {};
    if (!fd || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode) || task_appends(pid, number))
        return fd;
    UniqueFd task(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    return UniqueFd(task ? static_cast<int>(::syscall(SYS_pidfd_getfd, task.get(), number, 0)) : -1);
}

// What is to come with one write: the kernel takes up to PIPE_BUF bytes for a pipe as a whole.
std::string_view next_piece(std::string_view text) {
    if (text.size() <= PIPE_BUF)
        return text;
    std::size_t end = text.rfind('\n', PIPE_BUF - 1);
    if (end == text.npos)
        end = text.find('\n');
    return text.substr(0, end == text.npos ? end : end + 1);
}

// Is there room for a piece that may come in parts?
bool has_room(int fd, std::size_t size) {
    int capacity = ::fcntl(fd, F_GETPIPE_SZ), used = 0;
    return size <= PIPE_BUF || capacity < 0 || ::ioctl(fd, FIONREAD, &used) != 0 ||
           static_cast<std::size_t>(std::max(capacity - used, 0)) >= size;
}

bool wait_for_room(int fd, TimePoint end) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd room{fd, POLLOUT, 0};
    return left > 0 && ::poll(&room, 1, static_cast<int>(std::min<long>(left, INT_MAX))) != 0;
}

} // namespace

bool write_for(pid_t pid, int number, std::string_view text, Duration patience) {
    UniqueFd fd = open_of_task(pid, number);
    if (!fd || !has_room(fd.get(), next_piece(text).size()))
        return false;
    const TimePoint end = std::chrono::steady_clock::now() + patience;
    for (bool is_begun = false; !text.empty();) {
        std::string_view piece = next_piece(text);
        ssize_t n = ::write(fd.get(), piece.data(), piece.size());
        if (n < 0 && (errno == EINTR || (errno == EAGAIN && is_begun && wait_for_room(fd.get(), end))))
            continue;
        if (n <= 0)
            return false;
        is_begun = true;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

} // namespace pmixhost
