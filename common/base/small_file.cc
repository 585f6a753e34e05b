// See small_file.h.
#include "common/base/small_file.h"

#include "common/base/unique_fd.h"

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
