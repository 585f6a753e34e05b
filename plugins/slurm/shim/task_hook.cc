// See task_hook.h.
#include "plugins/slurm/shim/task_hook.h"

#include "common/start/spawn_channel.h"
#include "common/start/task_spec.h"
#include "common/text/printable.h"
#include "plugins/kit/door_client.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/shim/hook_env.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

namespace pmixhost::slurm {

namespace {

constexpr std::chrono::milliseconds default_timeout{30'000};
constexpr std::chrono::milliseconds report_limit{1500};
constexpr int read_limit = 1500; // ms

// Writes, and returns when all is read where `fd` is a pipe: slurmstepd closes its ends of the tasks' pipes when it has
// waited for its last task, whatever they hold. A pipe of one page is writable when it is empty.
void write_and_await_reader(int fd, const std::string &line) {
    [[maybe_unused]] ssize_t written = ::write(fd, line.data(), line.size());
    if (fcntl(fd, F_SETPIPE_SZ, 1) < 0)
        return;
    pollfd pipe{fd, POLLOUT, 0};
    ::poll(&pipe, 1, read_limit);
}

// This one's last: with it this process ends.
std::vector<std::uint32_t> jobs_of_step(const StepName &step, char *const *environment) {
    std::vector<std::uint32_t> jobs;
    auto map = collect_task_map(environment);
    for (std::uint32_t job : map ? jobs_in_task_map(*map) : std::vector<std::uint32_t>{}) {
        if (job != step.job_id && std::find(jobs.begin(), jobs.end(), job) == jobs.end())
            jobs.push_back(job);
    }
    jobs.push_back(step.job_id);
    return jobs;
}

} // namespace

Result<void> prepare_task(const Prepared &prepared, Rank rank, char ***environment) {
    if (!prepared.failure.empty())
        return error(ErrorKind::unreachable, "{}", prepared.failure);
    // A process of PMIx_Spawn keeps the connection until its program runs.
    bool spawned = !find_variable(*environment, parent_variable).empty();
    bool in_container = has_variable(*environment, task_container_variable);
    UniqueFd door;
    auto variables =
        kit::ask_at_door(prepared.door, prepared.uid, rank, door_timeout(*environment), spawned ? &door : nullptr);
    if (!variables) {
        // The daemon's own word on why it is not there.
        std::string why = prepared.page ? prepared.page->failure() : std::string();
        if (why.empty() || variables.failure().kind == ErrorKind::denied)
            why = variables.failure().text;
        if (!why.starts_with(prepared.host + ":"))
            why = fmt::format("{}: {}", prepared.host, why);
        return error(variables.failure().kind, "{}", why);
    }
    for (std::string_view entry : *variables) {
        std::string variable(entry.starts_with('?') ? entry.substr(1) : entry); // contrib/doc/task-door.md
        std::size_t equals = variable.find('=');
        if (entry.starts_with('?') && has_variable(*environment, variable.substr(0, equals)))
            continue;
        if (auto set = set_variable(environment, variable.substr(0, equals), variable.substr(equals + 1)); !set)
            return error(set.failure().kind, "{}: {}", prepared.host, set.failure().text);
    }
    remove_own_variables(*environment);
    if (!spawned)
        return {};
    if (in_container) {
        // As with pmixhost-task, a daemon that is gone is not this one's to tell.
        [[maybe_unused]] ssize_t written = ::send(door.get(), "+", 1, MSG_NOSIGNAL);
        return {};
    }
    int flags = fcntl(door.get(), F_GETFL);
    if (fcntl(door.get(), F_SETFD, 0) != 0 || fcntl(door.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
        return system_error("task door", errno);
    return set_variable(environment, std::string(task_fd_variable), std::to_string(door.release()));
}

std::chrono::milliseconds door_timeout(char *const *environment) {
    constexpr std::pair<std::string_view, std::uint64_t> units[] = {
        {"", 1000}, {"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}};
    std::string_view text = find_user_variable(environment, start_timeout_variable);
    std::uint32_t number = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc())
        return default_timeout;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    for (auto [name, length] : units) {
        if (text == name)
            return std::chrono::milliseconds(std::clamp<std::uint64_t>(number * length, 100, 3'600'000));
    }
    return default_timeout;
}

void end_step_from_task(const Prepared &prepared, bool first_on_host, const std::string &why, char *const *environment,
                        const StepKiller &killer) {
    if (prepared.page ? !prepared.page->claim_report() : !first_on_host)
        return;
    auto target = kit::StarterAddress::parse(find_variable(environment, report_variable));
    Result<void> told = target ? kit::can_seal(killer.sealer) : target.failure();
    if (told)
        told = kit::send_to_starter(*target, kit::ExitReport{1, why}.message(), killer.sealer, report_limit);
    else if (target)
        told = kit::send_unproved_note(*target, why, report_limit);
    if (!told)
        write_and_await_reader(killer.error_fd, "pmixhost: " + one_line(why, kit::max_report_text) + "\n");
    killer.kill(jobs_of_step(prepared.step, environment), prepared.step.step_id);
}

} // namespace pmixhost::slurm
