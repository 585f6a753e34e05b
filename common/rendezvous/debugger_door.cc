// See debugger_door.h.
#include "common/rendezvous/debugger_door.h"

#include "common/text/take_number.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace pmixhost {

static constexpr std::string_view holds = "holds ";

std::string hold_word(const HeldProcess &process) {
    return fmt::format("{}{} {}", holds, process.pid, process.began);
}

Result<HeldProcess> parse_hold_word(std::string_view word) {
    HeldProcess out;
    std::string_view rest = word.substr(word.starts_with(holds) ? holds.size() : word.size());
    bool all = take_number(rest, out.pid) && rest.starts_with(' ');
    rest.remove_prefix(all ? 1 : 0);
    if (!all || !take_number(rest, out.began) || !rest.empty() || out.pid <= 1)
        return error(ErrorKind::invalid, "it names no process");
    return out;
}

Result<sockaddr_un> debugger_door_address(const std::string &directory) {
    const std::string path = directory + "/debuggers";
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (path.size() >= sizeof out.sun_path)
        return error(ErrorKind::limit, "{} is longer than a socket's path may be", path);
    std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
    return out;
}

Result<UniqueFd> knock_at_debugger_door(const std::string &directory) {
    auto address = debugger_door_address(directory);
    if (!address)
        return address.failure();
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address) != 0)
        return system_error(address->sun_path, errno);
    return fd;
}

} // namespace pmixhost
