// See spawn_command.h.
#include "plugins/slurm/steps/spawn_command.h"

#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "plugins/slurm/base/slurm_abi.h"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <set>
#include <slurm/slurm_errno.h>

namespace pmixhost::slurm {

namespace {

const char *binding_word(SpawnPlan::Binding binding) {
    switch (binding) {
    case SpawnPlan::Binding::none:
        return "none";
    case SpawnPlan::Binding::hwthread:
        return "threads";
    case SpawnPlan::Binding::core:
        return "cores";
    case SpawnPlan::Binding::socket:
        return "sockets";
    case SpawnPlan::Binding::numa:
        return "ldoms";
    case SpawnPlan::Binding::unsaid:
        break;
    }
    return nullptr;
}

// Of the kernel (execve(2)), with pages of 4 KiB and the byte that ends it.
constexpr std::size_t max_argument = (128u << 10) - 1;

std::string base_name(const std::string &path) {
    std::string name = path.substr(path.rfind('/') + 1);
    for (char &c : name) {
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
            c = '_';
    }
    return name.empty() ? "spawn" : name;
}

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

// srun notes the limits of who called it, and raises its own.
std::optional<std::uint64_t> limit_in(std::string_view variable) {
    std::string_view text = variable.substr(std::min(variable.size(), name_of(variable).size() + 1));
    if (text.starts_with('U')) // by --propagate
        text.remove_prefix(1);
    std::uint64_t number = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool whole = failed == std::errc() && end == text.data() + text.size() && number > 0;
    return whole ? std::optional(number) : std::nullopt;
}

// All that the children's hosts have, where those are not all: else the step asks for what the whole job has.
std::string gpus_for(const SpawnPlan &plan, const std::map<std::string, std::uint32_t> &by_host) {
    std::uint64_t all = 0, here = 0;
    const std::set<std::string> hosts(plan.host_of_rank.begin(), plan.host_of_rank.end());
    for (const auto &[host, gpus] : by_host) {
        all += gpus;
        here += hosts.contains(host) ? gpus : 0;
    }
    if (here == all)
        return {};
    return here == 0 ? "--gres=none" : fmt::format("--gpus={}", here);
}

} // namespace

bool belongs_to_the_job(std::string_view variable) {
    static constexpr std::string_view kept[] = {
        "SLURM_CONF",        "SLURM_JOBID",        "SLURM_CLUSTER_NAME", "SLURM_CLUSTERS",      "SLURM_STDOUTMODE",
        "SLURM_STDERRMODE",  "SLURM_NODE_ALIASES", "SLURM_EXPORT_ENV",   "SLURM_RESTART_COUNT", "SLURM_SUBMIT_DIR",
        "SLURM_SUBMIT_HOST", "SLURM_DEBUG_FLAGS",  "SLURM_THREADS",
    };
    // These are options of srun and no variables of the job, whatever their names say.
    static constexpr std::string_view dropped[] = {"SLURM_JOB_NAME", "SLURM_JOB_NUM_NODES"};
    std::string_view name = name_of(variable);
    if (name.starts_with("SLURM_")) {
        if (std::find(std::begin(dropped), std::end(dropped), name) != std::end(dropped))
            return false;
        return name.starts_with("SLURM_JOB_") || name.starts_with("SLURM_ARRAY_") ||
               std::find(std::begin(kept), std::end(kept), name) != std::end(kept);
    }
    if (name.starts_with("SRUN_") || name.starts_with("PMI_") || name == "SLURMD_NODENAME")
        return false;
    if (name.starts_with("PMIX_"))
        return name.starts_with("PMIX_MCA_");
    if (name.starts_with("OMPI_"))
        return name.starts_with("OMPI_MCA_");
    if (name.starts_with("PMIXHOST_"))
        return !name.starts_with("PMIXHOST_STEP_") && !name.starts_with(task_spec_prefix) &&
               name != "PMIXHOST_REPORT" && name != parent_variable && name != step_secret_variable &&
               name != task_fd_variable && name != task_container_variable && name != process_sets_variable &&
               name != spawn_fd_variable && name != spawn_stderr_variable;
    return true;
}

Result<JobCommand> spawn_command(const SpawnPlan &plan, const SpawnContext &context) {
    std::vector<TaskApp> apps = plan.apps;
    for (auto &app : apps) {
        app.prefix = context.prefix;
        // Not srun's --input=none, which tells all hosts an end at which output is lost (contrib/doc/semantics.md).
        app.no_input = !plan.takes_input();
    }
    auto spec = encode_task_spec(apps);
    if (!spec)
        return spec.failure();
    std::string hosts = fmt::format("--nodelist={}", fmt::join(plan.host_of_rank, ","));
    if (hosts.size() > max_argument)
        return error(ErrorKind::limit,
                     "the hosts of {} processes make a list of {} KiB for srun, and the system takes {} KiB in one "
                     "argument (MAX_ARG_STRLEN); next: several PMIx_Spawn of fewer processes each",
                     plan.tasks(), hosts.size() >> 10, max_argument >> 10);
    JobCommand command;
    command.secret = context.secret;
    command.drops_early_signals = true; // srun does
    auto &argv = command.argv;
    argv = {context.srun, fmt::format("--jobid={}", context.job_id), "--mpi=pmixhost",
            // Beside what runs in the allocation, never waiting for it.
            "--overlap", fmt::format("--job-name={}", base_name(plan.apps.front().program)),
            fmt::format("--ntasks={}", plan.tasks()),
            // The list says how many hosts; newer versions refuse to hear it twice.
            "--distribution=arbitrary", std::move(hosts), "--chdir=/"};
    if (plan.oversubscribed)
        argv.push_back("--overcommit");
    if (plan.cpus_per_task > 1)
        argv.push_back(fmt::format("--cpus-per-task={}", plan.cpus_per_task));
    if (std::string gpus = gpus_for(plan, context.gpus); !gpus.empty())
        argv.push_back(std::move(gpus));
    if (const char *word = binding_word(plan.binding))
        argv.push_back(fmt::format("--cpu-bind={}", word));
    if (auto only = plan.input_rank())
        argv.push_back(fmt::format("--input={}", *only));
    if (plan.label_output || context.label)
        argv.push_back("--label");
    for (const auto &option : context.options) {
        if (!plan.end_on_bad_exit || !option.starts_with("--kill-on-bad-exit="))
            argv.push_back(option);
    }
    if (plan.end_on_bad_exit)
        argv.push_back(fmt::format("--kill-on-bad-exit={}", *plan.end_on_bad_exit ? 1 : 0));
    // pmixhost-task must be there inside, as slurmstepd's own files must.
    if (!context.container.empty())
        argv.push_back("--container=" + context.container);
    // The parent's srun has begun the files.
    if (!context.output.empty())
        argv.push_back("--output=" + context.output);
    if (!context.error.empty())
        argv.push_back("--error=" + context.error);
    if (!context.output.empty() || !context.error.empty())
        argv.push_back("--open-mode=append");
    argv.push_back(context.task_program);

    for (const auto &variable : context.environment) {
        if (name_of(variable) == "SLURM_RLIMIT_NOFILE")
            command.open_files = limit_in(variable);
        if (belongs_to_the_job(variable))
            command.environment.push_back(variable);
    }
    for (auto &variable : task_spec_variables(*spec))
        command.environment.push_back(std::move(variable));
    if (!plan.process_sets.empty())
        command.environment.push_back(
            fmt::format("{}={}", process_sets_variable, format_process_sets(plan.process_sets)));
    command.environment.push_back(fmt::format("{}={}", parent_variable, plan.parent().text()));
    if (!context.container.empty())
        command.environment.push_back(fmt::format("{}=1", task_container_variable));
    return command;
}

Error explain_srun(const std::string &said) {
    static constexpr std::pair<int, ErrorKind> meanings[] = {
        {ESLURM_TOO_MANY_REQUESTED_CPUS, ErrorKind::limit},
        {ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, ErrorKind::limit},
        {ESLURM_NODES_BUSY, ErrorKind::limit},
        {ESLURM_STEP_LIMIT, ErrorKind::limit},
        {ESLURM_INVALID_TASK_MEMORY, ErrorKind::limit},
        {ESLURM_BAD_TASK_COUNT, ErrorKind::limit},
        {ESLURM_INVALID_JOB_ID, ErrorKind::not_found},
        {ESLURM_ALREADY_DONE, ErrorKind::not_found},
        {ESLURM_ACCESS_DENIED, ErrorKind::denied},
        {ESLURM_USER_ID_MISSING, ErrorKind::denied},
        {SLURM_COMMUNICATIONS_CONNECTION_ERROR, ErrorKind::unreachable},
        {SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, ErrorKind::unreachable},
        {SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR, ErrorKind::unreachable},
        {SLURMCTLD_COMMUNICATIONS_SEND_ERROR, ErrorKind::unreachable},
        {SLURMCTLD_COMMUNICATIONS_RECEIVE_ERROR, ErrorKind::unreachable},
    };
    std::string reason = said.empty() ? "srun ended without a word" : said;
    while (!reason.empty() && reason.back() == '\n')
        reason.pop_back();
    std::replace(reason.begin(), reason.end(), '\n', ';');
    for (const auto &[error_number, kind] : meanings) {
        const char *text = slurm_strerror(error_number);
        if (text && *text && said.find(text) != std::string::npos)
            return {kind, reason};
    }
    return {ErrorKind::system, reason};
}

} // namespace pmixhost::slurm
