// See user_terminal.h.
#include "server-glue/user_terminal.h"

#include "common/unique_fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace pmixhost {

std::string printable(std::string_view text) {
    std::string out(text.substr(0, 1024));
    for (char &c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = ' ';
    }
    return out;
}

void say_on_terminal(pid_t pid, std::string_view text) {
    UniqueFd fd(::open(fmt::format("/proc/{}/fd/2", pid).c_str(),
                       O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd)
        return;
    std::string line = "pmixhost: " + printable(text) + "\n";
    [[maybe_unused]] ssize_t n = ::write(fd.get(), line.data(), line.size());
}

} // namespace pmixhost
