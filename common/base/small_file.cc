// See small_file.h.
#include "common/base/small_file.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace pmixhost {

Result<std::string> read_small_file(const std::string &path) {
    static constexpr std::size_t max = 1u << 20;
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd)
        return system_error(path, errno);
    return read_all(fd.get(), path, max);
}

Result<UniqueFd> open_regular_file(const std::string &path, struct stat &status) {
    // Non-blocking, because opening a FIFO would wait for a writer.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        int code = errno;
        Error why = system_error(path, code);
        errno = code;
        return why;
    }
    if (!S_ISREG(status.st_mode))
        return error(ErrorKind::invalid, "{}: is no regular file", path);
    return fd;
}

Result<std::string> read_all(int fd, const std::string &path, std::size_t max) {
    std::string text;
    char buffer[16384];
    for (;;) {
        ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_error(path, errno);
        if (n == 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(n));
        if (text.size() > max)
            return error(ErrorKind::limit, "{}: is over {} bytes", path, max);
    }
}

} // namespace pmixhost
