// See srun_starter.h.
#include "plugins/slurm/backend/srun_starter.h"

#include "common/base/small_file.h"
#include "common/process/program_beside.h"
#include "common/text/shell_words.h"
#include "plugins/slurm/backend/allocation_calls.h"
#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/job_gpus.h"
#include "plugins/slurm/backend/slurm_calls.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/steps/session_step.h"
#include "plugins/slurm/steps/spawn_command.h"

#include <algorithm>
#include <cerrno>

namespace pmixhost::slurm {

namespace {

class SlurmStarter final : public JobStarter {
  public:
    SlurmStarter(SpawnContext context, SpawnSite site) : context_(std::move(context)), site_(std::move(site)) {}
    const SpawnSite &site() const override { return site_; }
    Result<JobCommand> command(const SpawnPlan &plan) override { return spawn_command(plan, context_); }
    JobPlace place(const SpawnPlan &plan, const std::string &nspace) const override {
        auto hosts = sorted_hosts(plan.host_of_rank);
        auto name = std::string_view(nspace);
        name.remove_prefix(std::min(name.size(), namespace_prefix.size()));
        return {hosts ? std::move(*hosts) : std::vector<std::string>(), std::string(name), slots_for(plan)};
    }
    Error explain(const std::string &said) const override { return explain_srun(said); }

  private:
    // As srun's environment has them, which the step's daemons go by.
    std::uint32_t slots_for(const SpawnPlan &plan) const {
        static constexpr std::string_view variable = "SLURM_JOB_CPUS_PER_NODE=";
        for (const auto &entry : context_.environment) {
            if (!entry.starts_with(variable))
                continue;
            std::uint32_t slots = sum_of_cpus(std::string_view(entry).substr(variable.size()));
            return slots == 0 ? 0 : std::max(slots, plan.tasks());
        }
        return 0;
    }

    SpawnContext context_;
    SpawnSite site_;
};

// Asks slurmctld: srun's environment tells of the allocation only where srun did not make it itself.
Result<SpawnSite> allocation_of(std::uint32_t job_id) {
    initialise_slurm();
    resource_allocation_response_msg_t *answer = nullptr;
    if (slurm_allocation_lookup(job_argument(job_id), &answer) != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "the allocation of job {} cannot be looked up: {}", job_id,
                     slurm_strerror(errno));
    SpawnSite site;
    site.forwards_streams = true;
    auto names = expand_host_list(answer->node_list ? answer->node_list : "", TaskMap::max_hosts);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t i = 0; i < answer->num_cpu_groups; ++i)
        slots.insert(slots.end(), answer->cpu_count_reps[i], answer->cpus_per_node[i]);
    slurm_free_resource_allocation_response_msg(answer);
    if (!names)
        return names.failure();
    slots.resize(names->size(), 1);
    for (std::size_t i = 0; i < names->size(); ++i)
        site.hosts.push_back({std::move((*names)[i]), slots[i]});
    return site;
}

Result<std::uint64_t> job_of(const StartDocument &document, const std::string &allocation) {
    if (allocation.empty())
        return document.number("slurm.job_id", UINT32_MAX);
    auto number = job_number(allocation);
    return number ? Result<std::uint64_t>(*number) : number.failure();
}

// What srun has in its environment where it makes the allocation itself; the step's daemons go by it.
void describe_allocation(const SpawnSite &site, std::vector<std::string> &environment) {
    std::erase_if(environment, [](std::string_view variable) {
        return variable.starts_with("SLURM_") && !variable.starts_with("SLURM_CONF=");
    });
    std::string hosts, cpus;
    for (const auto &host : site.hosts) {
        hosts += (hosts.empty() ? "" : ",") + host.name;
        cpus += (cpus.empty() ? "" : ",") + std::to_string(host.slots);
    }
    environment.push_back("SLURM_JOB_NODELIST=" + hosts);
    environment.push_back("SLURM_JOB_CPUS_PER_NODE=" + cpus);
}

} // namespace

Result<std::unique_ptr<JobStarter>> create_starter(const StartDocument &document, const Settings &settings,
                                                   const std::string &allocation) {
    SpawnContext context;
    auto job = job_of(document, allocation);
    auto srun = srun_path(settings);
    if (!job || !srun)
        return !job ? job.failure() : srun.failure();
    context.job_id = static_cast<std::uint32_t>(*job);
    context.srun = std::move(*srun);
    context.task_program = program_beside("pmixhost-task");
    auto text = [&](std::string_view key) {
        auto value = document.text(key);
        return value ? *value : std::string();
    };
    context.output = text("slurm.output");
    context.error = text("slurm.error");
    context.label = !text("slurm.label").empty();
    context.options = document.all("slurm.option");
    context.secret = text("secret");
    context.container = text("slurm.container");
    auto prefix = split_shell_words(settings.of_plugin("slurm.spawn_prefix"));
    if (!prefix)
        return error(prefix.failure().kind, "slurm.spawn_prefix: {}", prefix.failure().text);
    context.prefix = std::move(*prefix);
    for (char **variable = environ; *variable; ++variable)
        context.environment.emplace_back(*variable);

    auto site = allocation_of(context.job_id);
    if (!site)
        return site.failure();
    site->read_file = read_small_file;
    if (auto gpus = gpus_of_job(context.job_id)) // without: srun says what is wrong
        context.gpus = std::move(*gpus);
    if (!allocation.empty())
        describe_allocation(*site, context.environment);
    return std::unique_ptr<JobStarter>(std::make_unique<SlurmStarter>(std::move(context), std::move(*site)));
}

} // namespace pmixhost::slurm
