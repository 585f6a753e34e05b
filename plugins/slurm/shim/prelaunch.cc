// See prelaunch.h.
#include "plugins/slurm/shim/prelaunch.h"

#include "common/job/debug_stops.h"
#include "common/process/program_look.h"
#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "common/start/task_spec.h"
#include "plugins/kit/indirect_launch.h"
#include "plugins/kit/launcher_start.h"
#include "plugins/slurm/shim/app_list.h"
#include "plugins/slurm/shim/cpu_binding.h"
#include "plugins/slurm/shim/hook_env.h"
#include "plugins/slurm/shim/prefork.h"
#include "plugins/slurm/steps/child_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fmt/ranges.h>
#include <numeric>

#include <fcntl.h>

namespace pmixhost::slurm {

namespace {

constexpr std::chrono::milliseconds collect_limit{1000};
constexpr std::chrono::milliseconds look_at_held_job{10'000};

bool is_set(std::uint32_t number) {
    return number != 0 && number != NO_VAL;
}

std::string variable(const char *name) {
    const char *value = getenv(name);
    std::string text = value ? value : "";
    // It only informs: what would not fit the map is left out.
    if (text.size() > 64u << 10 || text.find_first_of(" \t\n\r") != std::string::npos)
        text.clear();
    return text;
}

// Names this run of srun: host, pid, and when the process began.
std::string process_key() {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    std::string began;
    UniqueFd fd(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    char buffer[1024];
    ssize_t length = fd ? ::read(fd.get(), buffer, sizeof buffer) : -1;
    if (length > 0) {
        // Field 22; the second is the name in parentheses and may hold anything.
        std::string_view text(buffer, static_cast<std::size_t>(length));
        text.remove_prefix(std::min(text.size(), text.rfind(')') + 1));
        for (int field = 2; field < 22 && !text.empty(); ++field) {
            std::size_t space = text.find(' ');
            text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
        }
        began = text.substr(0, text.find(' '));
    }
    return fmt::format("{}-{}-{}", host, getpid(), began);
}

// What the components of a het job have of a variable, in their order; nothing of another job. An srun that makes the
// allocation itself has the older names alone.
std::vector<std::string> of_components(const char *name) {
    std::vector<std::string> all;
    for (int i = 0; i < 128; ++i) {
        std::string text = variable(fmt::format("{}_HET_GROUP_{}", name, i).c_str());
        if (text.empty())
            text = variable(fmt::format("{}_PACK_GROUP_{}", name, i).c_str());
        if (text.empty())
            break;
        all.push_back(std::move(text));
    }
    return all.size() > 1 ? all : std::vector<std::string>(); // of one, some versions say it as well
}

// Of all hosts, the leading component's first: in it is the session.
std::string of_allocation(const char *name) {
    auto all = of_components(name);
    return all.empty() ? variable(name) : fmt::format("{}", fmt::join(all, ","));
}

std::string distribution_of(const slurm_step_layout_t &layout) {
    if ((layout.task_dist & SLURM_DIST_STATE_BASE) == SLURM_DIST_UNKNOWN)
        return {};
    switch (layout.task_dist & 0xf) {
    case SLURM_DIST_CYCLIC:
        return "cyclic";
    case SLURM_DIST_BLOCK:
        return "block";
    case SLURM_DIST_ARBITRARY:
        return "arbitrary";
    case SLURM_DIST_PLANE:
        return "plane";
    default:
        return {};
    }
}

// Started for PMIx_Spawn, srun is told to start something else.
std::vector<App> spawned_apps() {
    std::vector<App> apps;
    if (!getenv(std::string(parent_variable).c_str()))
        return apps;
    auto text = collect_task_spec(environ);
    auto spec = text ? decode_task_spec(*text) : Result<std::vector<TaskApp>>(text.failure());
    if (!spec || spec->size() > max_apps)
        return apps;
    for (auto &task_app : *spec) {
        App app{std::move(task_app.argv), {}};
        if (spec->size() > 1) {
            app.ranks.resize(task_app.count);
            std::iota(app.ranks.begin(), app.ranks.end(), task_app.first);
        }
        apps.push_back(std::move(app));
    }
    return apps;
}

} // namespace

// The components of a heterogeneous step have one.
static const std::string &secret_of_this_srun() {
    static const std::string secret = [] {
        kit::MungeSealer munge;
        UniqueFd channel = take_spawn_channel();
        std::string inherited = channel ? take_spawn_secret(channel.get()) : std::string();
        channel.release(); // it is the listener's
        return kit::secret_for_step(munge, std::move(inherited));
    }();
    return secret;
}

LaunchContext srun_context() {
    LaunchContext context;
    context.secret = secret_of_this_srun();
    context.start_key = process_key();
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    context.host = host;
    DaemonPath daemon = daemon_path(plugin_directory());
    context.daemon = std::move(daemon.path);
    context.daemon_arguments = std::move(daemon.arguments);
    // srun itself sets SLURM_NODELIST by now; the other one is a step's in a shell that is one (srun --pty).
    context.allocated_hosts = fmt::format("{}", fmt::join(of_components("SLURM_JOB_NODELIST"), ","));
    for (const char *name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST"}) {
        if (context.allocated_hosts.empty())
            context.allocated_hosts = variable(name);
    }
    context.allocated_cpus = of_allocation("SLURM_JOB_CPUS_PER_NODE");
    if (&slurm_conf) {
        if (slurm_conf.cluster_name)
            context.cluster = slurm_conf.cluster_name;
        if (slurm_conf.srun_port_range)
            context.ports = {slurm_conf.srun_port_range[0], slurm_conf.srun_port_range[1]};
        context.kills_on_bad_exit = slurm_conf.kill_on_bad_exit != 0;
        // srun counts "none" among no options that were set; what it tells the tasks has it.
        std::string cpu_bind = option_of_srun("cpu-bind");
        if (cpu_bind.empty())
            cpu_bind = variable("SLURM_CPU_BIND"); // which users unset, and leave its parts
        context.binding = binding_policy(slurm_conf.task_plugin ? slurm_conf.task_plugin : "", cpu_bind);
    }
    if (context.cluster.empty())
        context.cluster = variable("SLURM_CLUSTER_NAME");
    for (const auto &id : of_components("SLURM_JOB_ID")) {
        std::uint32_t number = 0;
        auto [end, code] = std::from_chars(id.data(), id.data() + id.size(), number);
        if (code != std::errc() || end != id.data() + id.size())
            break;
        context.component_jobs.push_back(number);
    }
    if (const char *sets = getenv(process_sets_variable))
        context.process_sets = sets;
    context.programs = programs_of_srun();
    context.spawned = spawned_apps();
    context.launcher_file = variable(kit::launcher_file_variable);
    context.debugger = kit::take_indirect_channel().release();
    context.holds_place = kit::take_holder() && context.debugger >= 0;
    context.mpir = is_under_mpir_debugger();
    return context;
}

Result<void> check_one_debugger(bool mpir, bool started_by_debugger, char *const *environment) {
    if (!mpir)
        return {};
    constexpr std::string_view is_there = "srun is under a debugger that uses MPIR (MPIR_being_debugged is 1; "
                                          "--debugger-test does that, too), for which Slurm itself stops the tasks";
    if (started_by_debugger)
        return error(ErrorKind::unsupported, "{}, and has been started by one that uses PMIx ({}): one of the two only",
                     is_there, kit::debugger_uri_variable);
    if (!find_variable(environment, debug_stop_variable).empty())
        return error(ErrorKind::unsupported,
                     "{}: unset {} (pmixhost debug sets it), or start srun without that debugger", is_there,
                     debug_stop_variable);
    return {};
}

Result<TaskMap> describe_step(const ClientInfo &info, const LaunchContext &context) {
    const slurm_step_layout_t *layout = info.step_layout;
    if (!layout || !layout->node_list || !layout->tasks || !layout->tids || layout->node_cnt == 0)
        return error(ErrorKind::invalid, "srun gave no list of the step's tasks");
    if (front_end(*layout))
        return error(ErrorKind::unsupported, "machines whose tasks run on a front end are not supported");
    if (layout->node_cnt > TaskMap::max_hosts)
        return error(ErrorKind::limit, "the step has {} hosts; pmixhost takes {}", layout->node_cnt,
                     +TaskMap::max_hosts);
    TaskMap map;
    map.job_id = is_set(info.het_job_id) ? info.het_job_id : info.step_id.job_id;
    map.step_id = info.step_id.step_id;
    if (is_set(info.het_job_id))
        map.component_jobs = context.component_jobs;
    if (info.het_job_task_offset != NO_VAL)
        map.first_rank = info.het_job_task_offset;
    map.start_key = context.start_key;
    map.cluster = context.cluster;
    map.host_list = layout->node_list;
    map.distribution = distribution_of(*layout);
    map.binding = context.binding;
    map.allocated_hosts = context.allocated_hosts;
    map.allocated_cpus = context.allocated_cpus;
    map.ranks_by_host.reserve(layout->node_cnt);
    std::size_t tasks = 0;
    for (std::uint32_t host = 0; host < layout->node_cnt; ++host) {
        const std::uint32_t *ids = layout->tids[host];
        map.ranks_by_host.emplace_back(ids, ids ? ids + layout->tasks[host] : nullptr);
        tasks += map.ranks_by_host.back().size();
    }
    if (tasks <= TaskMap::max_ranks)
        map.apps = context.spawned.empty() ? apps_of_step(context.programs, static_cast<Rank>(tasks), map.first_rank)
                                           : context.spawned;
    auto sets = parse_process_sets(context.process_sets, static_cast<Rank>(tasks));
    if (!sets)
        return error(sets.failure().kind, "{}: {}", process_sets_variable, sets.failure().text);
    map.process_sets = std::move(*sets);
    return map;
}

// For a tool that has started this srun. An srun that PMIx_Spawn has started is the launcher's; of a het step the first
// component does it for all.
static Result<std::string> ask_for_launcher_file(const LaunchContext &context, Rank first_rank, char ***environment) {
    std::string file = context.spawned.empty() && first_rank == 0 ? context.launcher_file : std::string();
    if (!file.empty() && !context.secret.empty()) {
        slurm_error("pmixhost: %s: without munge, tools of other hosts do not reach a step",
                    kit::launcher_file_variable);
        file.clear();
    }
    if (auto set = set_variable(environment, std::string(launcher_file_awaited), file.empty() ? "0" : "1"); !set)
        return set.failure();
    if (auto set = set_variable(environment, std::string(launch_awaited), "0"); !set)
        return set.failure();
    return file;
}

// For a debugger that has started this srun: waits until it lets go. The file by which its tool finds the job.
static Result<std::string> await_debugger(const LaunchContext &context, const ClientInfo &info, int channel,
                                          char ***environment) {
    remove_debuggers_variables(*environment);
    if (is_set(info.het_job_id))
        return error(ErrorKind::unsupported, "a debugger cannot start a heterogeneous step by srun");
    if (!context.secret.empty())
        return error(ErrorKind::unsupported, "{}: without munge, debuggers do not reach a step",
                     kit::debugger_uri_variable);
    auto goes_on = [&] { return context.job_goes_on ? context.job_goes_on(info.step_id.job_id) : Result<void>(); };
    auto released = kit::await_release(channel, look_at_held_job, goes_on);
    if (!released)
        return released.failure();
    kit::tell_exit_code(channel);
    Result<void> set = set_variable(environment, std::string(launcher_file_awaited), "1");
    if (set)
        set = set_variable(environment, std::string(launch_awaited), "1");
    if (set && !released->stops.empty())
        set = set_variable(environment, std::string(debug_stop_variable), released->stops);
    if (!set)
        return set.failure();
    return released->file;
}

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

// The name of an srun's --output or --error for those of its children: slurmstepd takes a name of each task's own from
// the step's directory, and that of theirs is another one.
static std::string for_children(const std::string &name, const std::string &directory) {
    bool of_tasks = false;
    for (auto percent = name.find('%'); percent != name.npos; percent = name.find('%', percent + 1)) {
        auto kind = name.find_first_not_of("0123456789", percent + 1);
        of_tasks =
            of_tasks || (kind != name.npos && std::string_view("tnNu").find(name[kind]) != std::string_view::npos);
    }
    std::error_code failed;
    return of_tasks ? (std::filesystem::current_path(failed) / directory / name).string() : name;
}

// Its --output and the like are the launcher's own matter (for_children).
static std::vector<std::string> options_of_children() {
    std::vector<std::string> options;
    for (const char *name : options_for_children) {
        if (std::string value = option_of_srun(name); value == "set")
            options.push_back(fmt::format("--{}", name));
        else if (!value.empty() && value != "unset")
            options.push_back(fmt::format("--{}={}", name, value));
    }
    return options;
}

// Of several that --clusters names srun takes one, and says in its environment which.
static std::string cluster_of_srun() {
    std::string working = variable("SLURM_WORKING_CLUSTER"), named = option_of_srun("clusters");
    return !working.empty() || named.find(',') != named.npos ? working : named;
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

Result<LaunchState> prepare_launch(const ClientInfo &info, const LaunchContext &context,
                                   std::unique_ptr<kit::Sealer> sealer, char ***environment) {
    // salloc's own srun for the user's shell: slurmstepd asks no mpi plugin there, and the shell would have what is
    // meant for this one.
    if (info.step_id.step_id == SLURM_INTERACTIVE_STEP)
        return LaunchState();
    UniqueFd debugger(context.debugger);
    if (auto one = check_one_debugger(context.mpir, bool(debugger), *environment); !one)
        return one.failure();
    if (auto possible = check_container(context); !possible)
        return possible.failure();
    auto map = describe_step(info, context);
    if (!map)
        return map.failure();
    auto text = encode_task_map(*map);
    if (!text)
        return text.failure();
    auto listener = kit::StarterListener::open(context.ports);
    if (!listener)
        return error(listener.failure().kind, "{}{}", listener.failure().text,
                     listener.failure().kind == ErrorKind::limit ? " (SrunPortRange)" : "");
    auto pieces = split_for_environment(*text);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (auto set = set_variable(environment, task_map_variable(i), pieces[i]); !set)
            return set.failure();
    }
    if (auto set = set_variable(environment, std::string(report_variable), listener->address().text()); !set)
        return set.failure();
    // Set without one too: what the user says, in his environment or with --export, must not be taken for it.
    if (auto set = set_variable(environment, std::string(step_secret_variable), context.secret); !set)
        return set.failure();
    // What a configuration file says does not hold there.
    if (context.mpir) {
        if (auto set = set_variable(environment, std::string(debug_stop_variable), ""); !set)
            return set.failure();
    }
    std::string use(to_word(pmix_use_of_step(map->apps)));
    if (auto set = set_variable(environment, std::string(pmix_use_variable), use); !set)
        return set.failure();
    if (auto passed = context.spawned.empty() ? Result<void>() : pass_on_spawn(environment); !passed)
        return passed.failure();
    const std::string bad_exit = option_of_srun("kill-on-bad-exit");
    const bool lives_on = option_of_srun("no-kill") == "set" || bad_exit == "0";
    const bool ends = bad_exit.empty() ? context.kills_on_bad_exit : bad_exit != "0";
    // Set in any case: what an outer srun has left there is not for this one.
    for (auto [name, value] : {std::pair(live_on_variable, lives_on), std::pair(bad_exit_variable, ends)}) {
        if (auto set = set_variable(environment, std::string(name), value ? "1" : "0"); !set)
            return set.failure();
    }
    auto file = debugger ? await_debugger(context, info, debugger.get(), environment)
                         : ask_for_launcher_file(context, map->first_rank, environment);
    if (!file)
        return file.failure();
    kit::LaunchListener::Parts parts;
    parts.launcher_file = std::move(*file);
    parts.sealer = std::move(sealer);
    parts.start_launcher =
        [cluster = cluster_of_srun(), own_cluster = context.cluster, daemon = context.daemon,
         arguments = context.daemon_arguments, host = context.host, job = std::to_string(map->job_id),
         output = for_children(option_of_srun("output"), option_of_srun("chdir")),
         error = for_children(option_of_srun("error"), option_of_srun("chdir")), label = option_of_srun("label"),
         container = option_of_srun("container"), options = options_of_children(),
         secret = context.secret]() -> Result<kit::LauncherProcess> {
        if (auto here = check_cluster(cluster, own_cluster); !here)
            return here.failure();
        StartDocument document;
        Result<void> added;
        auto add = [&](std::string_view key, std::string_view value) {
            if (added && !value.empty())
                added = document.add(key, value);
        };
        add("backend", "slurm");
        add("host", host);
        add("job", job);
        add("secret", secret);
        add("slurm.job_id", job);
        add("slurm.output", output);
        add("slurm.error", error);
        add("slurm.label", label);
        add("slurm.container", container);
        for (const auto &option : options) {
            if (option.find('\n') == std::string::npos)
                add("slurm.option", option);
            else
                slurm_error("pmixhost: the value of %s has a line break: it does not hold for what is spawned",
                            option.substr(0, option.find('=')).c_str());
        }
        for (const auto &variable : user_variables(environ))
            add("env", variable);
        if (!added)
            return added.failure();
        return kit::start_launcher({"launcher", -1, daemon, arguments, std::move(document)});
    };
    parts.start_desk =
        [daemon = context.daemon, arguments = context.daemon_arguments, host = context.host,
         step = fmt::format("{}.{}", map->job_id, map->step_id)](int socket) -> Result<kit::LauncherProcess> {
        StartDocument document;
        Result<void> added;
        for (const auto &[key, value] : {std::pair<std::string, std::string>("host", host), {"desk.job", step}}) {
            if (added)
                added = document.add(key, value);
        }
        for (const auto &variable : user_variables(environ)) {
            if (added)
                added = document.add("env", variable);
        }
        if (!added)
            return added.failure();
        return kit::start_launcher({"desk", socket, daemon, arguments, std::move(document)});
    };
    parts.ends_children = context.holds_place;
    parts.on_a_host_of_jobs = getenv("SLURMD_NODENAME") != nullptr;
    parts.complain = [](const std::string &text) { slurm_error("pmixhost: %s", text.c_str()); };
    // Of a het step the first component has it.
    parts.spawn_channel = debugger ? std::move(debugger) : map->first_rank == 0 ? take_spawn_channel() : UniqueFd();
    parts.hosts = static_cast<std::size_t>(std::count_if(map->ranks_by_host.begin(), map->ranks_by_host.end(),
                                                         [](const auto &ranks) { return !ranks.empty(); }));
    if (parts.spawn_channel)
        say_created(parts.spawn_channel.get(), namespace_of(map->job_id, map->step_id),
                    std::accumulate(map->ranks_by_host.begin(), map->ranks_by_host.end(), std::size_t{0},
                                    [](std::size_t sum, const auto &ranks) { return sum + ranks.size(); }));
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
