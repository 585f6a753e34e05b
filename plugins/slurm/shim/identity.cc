// See identity.h.
#include "plugins/slurm/shim/identity.h"

#include "common/text/take_number.h"
#include "plugins/slurm/base/slurm_abi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace pmixhost::slurm {

namespace {

constexpr int handshake_limit = 2000; // ms

} // namespace

Result<std::optional<StepName>> parse_step_title(std::string_view title) {
    auto unknown = [whole = title] {
        return error(ErrorKind::invalid, "slurmstepd's title '{}' names no step", whole.substr(0, 80));
    };
    constexpr std::string_view program = "slurmstepd: [";
    if (title.substr(0, program.size()) != program)
        return unknown();
    title.remove_prefix(program.size());
    std::size_t close = title.find(']');
    if (close == std::string_view::npos)
        return unknown();
    title = title.substr(0, close);
    // 25.05 marks a step that manages its job's steps.
    if (std::size_t space = title.find(' '); space != std::string_view::npos)
        title = title.substr(0, space);

    StepName step;
    if (!take_number(title, step.job_id) || title.empty() || title.front() != '.')
        return unknown();
    title.remove_prefix(1);
    for (std::string_view special : {"batch", "extern", "interactive"}) {
        if (title.substr(0, special.size()) == special)
            return std::optional<StepName>();
    }
    if (!take_number(title, step.step_id))
        return unknown();
    if (!title.empty() && title.front() == '+') {
        title.remove_prefix(1);
        std::uint32_t component;
        if (!take_number(title, component))
            return unknown();
        step.het_component = component;
    }
    if (!title.empty())
        return unknown();
    return std::optional<StepName>(step);
}

Result<std::optional<StepName>> own_step_name() {
    UniqueFd fd(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
    char buffer[512];
    ssize_t length = fd ? ::read(fd.get(), buffer, sizeof buffer) : -1;
    if (length < 0)
        return system_error("/proc/self/cmdline", errno);
    return parse_step_title(std::string_view(buffer, static_cast<std::size_t>(length)));
}

static Result<void> is_this_process(const UniqueFd &connection) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return system_error("slurmstepd's socket", errno);
    if (peer.pid != getpid() || peer.uid != geteuid())
        return error(ErrorKind::denied, "slurmstepd's socket belongs to process {}", peer.pid);
    return {};
}

Result<OwnStep> look_up_own_step(const StepName &step, const std::string &node) {
    if (!stepd_connect || !stepd_get_uid)
        return error(ErrorKind::unsupported, "this slurmstepd cannot be asked for the step's user");
    slurm_step_id_t id{};
    id.job_id = step.job_id;
    id.step_id = step.step_id;
    id.step_het_comp = step.het_component.value_or(NO_VAL);
    OwnStep own;
    UniqueFd fd(stepd_connect(nullptr, node.c_str(), &id, &own.protocol));
    if (!fd)
        return error(ErrorKind::unreachable, "slurmstepd's socket for step {} on {}: no connection", to_text(step),
                     node);
    if (auto ours = is_this_process(fd); !ours)
        return error(ours.failure().kind, "step {}: {}", to_text(step), ours.failure().text);
    own.uid = stepd_get_uid(fd.get(), own.protocol);
    if (own.uid == static_cast<uid_t>(-1))
        return error(ErrorKind::unreachable, "slurmstepd did not tell the user of step {}", to_text(step));
    sockaddr_un address{};
    socklen_t length = sizeof address;
    if (::getpeername(fd.get(), reinterpret_cast<sockaddr *>(&address), &length) == 0)
        own.socket.assign(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path));
    return own;
}

Result<void> connect_to_own_step(const OwnStep &step, const UniqueFd &fd) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (step.socket.empty() || step.socket.size() >= sizeof address.sun_path)
        return error(ErrorKind::unreachable, "slurmstepd's socket has no path");
    step.socket.copy(address.sun_path, step.socket.size());
    // One whose queue is full is not waited for.
    if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        return error(ErrorKind::unreachable, "slurmstepd's socket: {}", std::strerror(errno));
    if (auto ours = is_this_process(fd); !ours)
        return ours;
    // Each side says which version it speaks, in its own order of bytes.
    int version = step.protocol;
    pollfd answer{fd.get(), POLLIN, 0};
    bool said = ::send(fd.get(), &version, sizeof version, MSG_NOSIGNAL) == sizeof version;
    if (!said || ::poll(&answer, 1, handshake_limit) != 1 ||
        ::recv(fd.get(), &version, sizeof version, 0) != sizeof version || version < 0)
        return error(ErrorKind::unreachable, "slurmstepd's socket lets nobody in now");
    ::fcntl(fd.get(), F_SETFL, 0); // Slurm's calls wait
    return {};
}

} // namespace pmixhost::slurm
