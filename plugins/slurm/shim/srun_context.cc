// See srun_context.h.
#include "plugins/slurm/shim/srun_context.h"

#include "common/job/process_set.h"
#include "common/process/process_stat.h"
#include "common/start/spawn_channel.h"
#include "common/start/task_spec.h"
#include "plugins/kit/indirect_launch.h"
#include "plugins/kit/launcher_file.h"
#include "plugins/kit/sealer.h"
#include "plugins/slurm/base/app_list.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/cpu_binding.h"

#include <charconv>
#include <cstdlib>
#include <fmt/ranges.h>
#include <numeric>

#include <unistd.h>

namespace pmixhost::slurm {

namespace {

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
    auto stat = read_process_stat(getpid());
    return fmt::format("{}-{}-{}", host, getpid(), stat ? std::to_string(stat->began) : "");
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

// Of several that --clusters names srun takes one, and says in its environment which.
std::string working_cluster() {
    std::string working = variable("SLURM_WORKING_CLUSTER"), named = option_of_srun("clusters");
    return !working.empty() || named.find(',') != named.npos ? working : named;
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
    context.daemon = daemon_path(plugin_directory());
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
    context.working_cluster = working_cluster();
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
    context.allocates = kit::take_own_allocation() && context.debugger >= 0;
    context.holds_place = kit::take_holder() && context.debugger >= 0;
    context.mpir = is_under_mpir_debugger();
    return context;
}

} // namespace pmixhost::slurm
