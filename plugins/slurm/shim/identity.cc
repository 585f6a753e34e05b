// See identity.h.
#include "plugins/slurm/shim/identity.h"

#include "common/base/unique_fd.h"
#include "plugins/slurm/shim/slurm_abi.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sys/socket.h>

namespace pmixhost::slurm {

namespace {

bool take_number(std::string_view &text, std::uint32_t &value) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc())
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

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

Result<uid_t> own_step_uid(const StepName &step, const std::string &node) {
    if (!stepd_connect || !stepd_get_uid)
        return error(ErrorKind::unsupported, "this slurmstepd cannot be asked for the step's user");
    slurm_step_id_t id{};
    id.job_id = step.job_id;
    id.step_id = step.step_id;
    id.step_het_comp = step.het_component.value_or(NO_VAL);
    std::uint16_t protocol = 0;
    UniqueFd fd(stepd_connect(nullptr, node.c_str(), &id, &protocol));
    if (!fd)
        return error(ErrorKind::unreachable, "slurmstepd's socket for step {} on {}: no connection", to_text(step),
                     node);
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return system_error("slurmstepd's socket", errno);
    if (peer.pid != getpid() || peer.uid != geteuid())
        return error(ErrorKind::denied, "slurmstepd's socket for step {} belongs to process {}", to_text(step),
                     peer.pid);
    uid_t uid = stepd_get_uid(fd.get(), protocol);
    if (uid == static_cast<uid_t>(-1))
        return error(ErrorKind::unreachable, "slurmstepd did not tell the user of step {}", to_text(step));
    return uid;
}

} // namespace pmixhost::slurm
