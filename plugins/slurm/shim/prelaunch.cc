// See prelaunch.h.
#include "plugins/slurm/shim/prelaunch.h"

#include "common/job/debug_stops.h"
#include "common/process/program_look.h"
#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "common/start/task_spec.h"
#include "plugins/slurm/shim/hook_env.h"
#include "plugins/slurm/shim/srun_roles.h"
#include "plugins/slurm/shim/starting_tool.h"
#include "plugins/slurm/shim/step_description.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include <unistd.h>

namespace pmixhost::slurm {

static constexpr std::chrono::milliseconds collect_limit{1000};

// What an older Slurm cannot do for PMIx in an OCI container; programs without it run.
static Result<void> check_container(const LaunchContext &context) {
    if (containers_have_tasks_environment || option_of_srun("container").empty())
        return {};
    // It would stand in the container's environment, in a file that the user's group can read.
    if (!context.secret.empty())
        return error(ErrorKind::unsupported, "without munge, --container needs Slurm 23.02; or use --mpi=none");
    slurm_info("pmixhost: there is no PMIx in a --container before Slurm 23.02, which gives its tasks none of their "
               "variables; next: --mpi=none, or enter the container by a command line (pmixhost(7), Containers)");
    return {};
}

// What PMIx_Spawn has said to this srun is for the hosts, whatever becomes of the user's environment (--export,
// SLURM_EXPORT_ENV).
static Result<void> pass_on_spawn(char ***environment) {
    for (char **variable = environ; *variable; ++variable) {
        std::string_view text = *variable, name = text.substr(0, text.find('='));
        if (name.size() == text.size() ||
            (name != parent_variable && name != task_container_variable && !name.starts_with(task_spec_prefix)))
            continue;
        if (auto set = set_variable(environment, std::string(name), std::string(text.substr(name.size() + 1))); !set)
            return set;
    }
    return {};
}

// srun looks at the programs once, for all hosts.
static PmixUse pmix_use_of_step(const std::vector<App> &apps) {
    if (!option_of_srun("container").empty())
        return PmixUse::may_come; // they are other files there
    std::error_code none;
    auto directory = std::filesystem::current_path(none) / option_of_srun("chdir");
    const char *search_path = getenv("PATH");
    return look_at_programs(apps, search_path ? search_path : "", directory);
}

// The map, and what else the shim in slurmstepd reads of the tasks' environment (hook_env.h).
static Result<void> tell_hosts(const TaskMap &map, const LaunchContext &context, const kit::StarterAddress &address,
                               char ***environment) {
    auto text = encode_task_map(map);
    if (!text)
        return text.failure();
    std::vector<std::pair<std::string, std::string>> told;
    for (auto &piece : split_for_environment(*text))
        told.emplace_back(task_map_variable(told.size()), std::move(piece));
    told.emplace_back(report_variable, address.text());
    // Set without one too: what the user says, in his environment or with --export, must not be taken for it.
    told.emplace_back(step_secret_variable, context.secret);
    for (const auto &variable : user_variables(environ)) {
        std::size_t equals = variable.find('=');
        told.emplace_back(of_srun_variable(variable.substr(0, equals)), variable.substr(equals + 1));
    }
    // What a configuration file says does not hold there.
    if (context.mpir)
        told.emplace_back(debug_stop_variable, "");
    told.emplace_back(pmix_use_variable, to_word(pmix_use_of_step(map.apps)));
    const std::string bad_exit = option_of_srun("kill-on-bad-exit");
    const bool lives_on = option_of_srun("no-kill") == "set" || bad_exit == "0";
    const bool ends = bad_exit.empty() ? context.kills_on_bad_exit : bad_exit != "0";
    // Set in any case: what an outer srun has left there is not for this one.
    told.emplace_back(live_on_variable, lives_on ? "1" : "0");
    told.emplace_back(bad_exit_variable, ends ? "1" : "0");
    for (const auto &[name, value] : told) {
        if (auto set = set_variable(environment, name, value); !set)
            return set;
    }
    return context.spawned.empty() ? Result<void>() : pass_on_spawn(environment);
}

Result<LaunchState> prepare_launch(const ClientInfo &info, const LaunchContext &context,
                                   std::unique_ptr<kit::Sealer> sealer, char ***environment) {
    // salloc's own srun for the user's shell: slurmstepd asks no mpi plugin there, and the shell would have what is
    // meant for this one.
    if (info.step_id.step_id == SLURM_INTERACTIVE_STEP)
        return LaunchState();
    UniqueFd debugger(context.debugger);
    if (auto one = check_one_debugger(context.mpir, bool(debugger), environ); !one)
        return one.failure();
    if (auto possible = check_container(context); !possible)
        return possible.failure();
    auto map = describe_step(info, context);
    if (!map)
        return map.failure();
    auto listener = kit::StarterListener::open(context.ports);
    if (!listener)
        return error(listener.failure().kind, "{}{}", listener.failure().text,
                     listener.failure().kind == ErrorKind::limit ? " (SrunPortRange)" : "");
    if (auto told = tell_hosts(*map, context, listener->address(), environment); !told)
        return told.failure();
    std::size_t hosts = 0, tasks = 0;
    for (const auto &ranks : map->ranks_by_host) {
        hosts += !ranks.empty();
        tasks += ranks.size();
    }
    auto file = debugger ? await_debugger(context, info, hosts, debugger.get(), environment)
                         : ask_for_launcher_file(context, map->first_rank, environment);
    if (!file)
        return file.failure();

    kit::LaunchListener::Parts parts;
    parts.launcher_file = std::move(*file);
    parts.sealer = std::move(sealer);
    parts.start_launcher = launcher_of_srun(context, map->job_id);
    parts.start_desk = desk_of_srun(context, map->job_id, map->step_id);
    parts.ends_children = context.holds_place;
    if (debugger)
        parts.ends = told_ends_of(find_variable(*environment, ends_awaited));
    parts.on_a_host_of_jobs = getenv("SLURMD_NODENAME") != nullptr;
    parts.complain = [](const std::string &text) { slurm_error("pmixhost: %s", text.c_str()); };
    // Of a het step the first component has it.
    parts.spawn_channel = debugger ? std::move(debugger) : map->first_rank == 0 ? take_spawn_channel() : UniqueFd();
    parts.hosts = hosts;
    if (parts.spawn_channel)
        say_created(parts.spawn_channel.get(), namespace_of(map->job_id, map->step_id), tasks);
    LaunchState state{std::make_unique<kit::LaunchListener>(std::move(*listener), std::move(parts))};
    state.listener->begin();
    return {std::move(state)};
}

int finish_launch(LaunchState &state, int error_fd) {
    if (!state.listener)
        return 0;
    auto report = state.listener->finish(collect_limit);
    if (!report)
        return 0;
    if (!report->text.empty()) {
        std::string line = fmt::format("srun: pmixhost: {}\n", report->text);
        [[maybe_unused]] ssize_t written = ::write(error_fd, line.data(), line.size());
    }
    return report->exit_status;
}

} // namespace pmixhost::slurm
