// See unread_streams.h.
#include "plugins/kit/unread_streams.h"

#include <string>
#include <string_view>

#include <unistd.h>

namespace pmixhost::kit {

// fstat(2) would ask the server of a file.
static bool is_unread(int fd) {
    char target[32]; // what it begins with is enough
    ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    if (length < 0)
        return false;
    std::string_view name(target, static_cast<std::size_t>(length));
    return !name.starts_with("pipe:") && !name.starts_with("socket:") && name != "/dev/null" && isatty(fd) == 0;
}

std::uint32_t unread_streams() {
    constexpr std::uint32_t standard_output = 2, standard_error = 4;
    return (is_unread(STDOUT_FILENO) ? standard_output : 0) | (is_unread(STDERR_FILENO) ? standard_error : 0);
}

} // namespace pmixhost::kit
