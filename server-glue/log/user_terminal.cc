// See user_terminal.h.
#include "server-glue/log/user_terminal.h"

#include "common/base/unique_fd.h"
#include "common/text/printable.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace pmixhost {

void say_on_terminal(pid_t pid, std::string_view text) {
    write_for(pid, 2, "pmixhost: " + one_line(text) + "\n");
}

bool write_for(pid_t pid, int number, std::string_view text) {
    UniqueFd fd(::open(fmt::format("/proc/{}/fd/{}", pid, number).c_str(),
                       O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd)
        return false;
    while (!text.empty()) {
        ssize_t n = ::write(fd.get(), text.data(), text.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

} // namespace pmixhost
