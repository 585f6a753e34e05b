// See starter.h.
#include "plugins/local/starter.h"

#include "common/base/small_file.h"
#include "common/process/program_beside.h"
#include "common/start/spawn_channel.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <unistd.h>

namespace pmixhost::local {

namespace {

// Virtual hosts have no CPUs of their own: what is asked for is started.
constexpr std::uint32_t slots_per_host = 1024;

// The hosts, in the order in which the ranks first name them.
std::vector<std::string> hosts_of(const SpawnPlan &plan) {
    std::vector<std::string> hosts;
    for (const auto &name : plan.host_of_rank) {
        if (std::find(hosts.begin(), hosts.end(), name) == hosts.end())
            hosts.push_back(name);
    }
    return hosts;
}

class LocalStarter final : public JobStarter {
  public:
    LocalStarter(StarterContext context, SpawnSite site) : context_(std::move(context)), site_(std::move(site)) {}
    const SpawnSite &site() const override { return site_; }
    Result<JobCommand> command(const SpawnPlan &plan) override { return run_command(plan, context_); }
    JobPlace place(const SpawnPlan &plan, const std::string &nspace) const override {
        return {hosts_of(plan), nspace, 0};
    }
    Error explain(const std::string &said) const override {
        std::string reason = said.empty() ? "pmixhost run ended without a word" : said;
        while (!reason.empty() && reason.back() == '\n')
            reason.pop_back();
        std::replace(reason.begin(), reason.end(), '\n', ';');
        return error(ErrorKind::system, "{}", reason);
    }

  private:
    StarterContext context_;
    SpawnSite site_;
};

} // namespace

Result<JobCommand> run_command(const SpawnPlan &plan, const StarterContext &context) {
    auto spec = encode_task_spec(plan.apps);
    if (!spec)
        return spec.failure();
    auto hosts = hosts_of(plan);
    std::vector<std::size_t> places;
    for (const auto &name : plan.host_of_rank)
        places.push_back(static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), name) - hosts.begin()));
    JobCommand command;
    auto &argv = command.argv;
    argv = {context.pmixhost, "run",
            "--hosts",        fmt::format("{}", fmt::join(hosts, ",")),
            "--ntasks",       std::to_string(plan.apps.front().count),
            "--map-by",       fmt::format("list={}", fmt::join(places, ",")),
            "--input",        plan.input_rank() ? std::to_string(*plan.input_rank()) : "none"};
    if (!context.tmpdir.empty())
        argv.insert(argv.end(), {"--tmpdir", context.tmpdir});
    if (!context.config.empty())
        argv.insert(argv.end(), {"--config", context.config});
    if (plan.label_output)
        argv.push_back("--label");
    if (plan.end_on_bad_exit.value_or(false))
        argv.push_back("--kill-on-bad-exit");
    argv.push_back(context.task_program);
    // Each program is one of the command line, so that it has its number; the ranks follow one another as in the
    // plan.
    for (std::size_t app = 1; app < plan.apps.size(); ++app)
        argv.insert(argv.end(), {":", "-n", std::to_string(plan.apps[app].count), context.task_program});
    for (const auto &variable : context.environment) {
        std::string_view name = std::string_view(variable).substr(0, variable.find('='));
        if (!name.starts_with(task_spec_prefix) && name != task_fd_variable && name != parent_variable &&
            name != process_sets_variable && name != spawn_fd_variable && name != spawn_stderr_variable)
            command.environment.push_back(variable);
    }
    for (auto &variable : task_spec_variables(*spec))
        command.environment.push_back(std::move(variable));
    if (!plan.process_sets.empty())
        command.environment.push_back(
            fmt::format("{}={}", process_sets_variable, format_process_sets(plan.process_sets)));
    command.environment.push_back(fmt::format("{}={}", parent_variable, plan.parent().text()));
    command.open_files = context.open_files;
    return command;
}

Result<std::unique_ptr<JobStarter>> create_starter(const StartDocument &document, const Settings &,
                                                   const std::string &) {
    StarterContext context;
    auto pmixhost = document.text("local.pmixhost");
    if (!pmixhost)
        return pmixhost.failure();
    context.pmixhost = std::move(*pmixhost);
    if (auto tmpdir = document.text("local.tmpdir"))
        context.tmpdir = *tmpdir;
    if (auto config = document.text("config"))
        context.config = *config;
    if (auto limit = document.number("local.open_files", UINT64_MAX))
        context.open_files = *limit;
    context.task_program = program_beside("pmixhost-task");
    for (char **variable = environ; *variable; ++variable)
        context.environment.emplace_back(*variable);
    SpawnSite site;
    for (auto &host : document.all("local.host_name"))
        site.hosts.push_back({std::move(host), slots_per_host});
    site.read_file = read_small_file;
    return std::unique_ptr<JobStarter>(std::make_unique<LocalStarter>(std::move(context), std::move(site)));
}

} // namespace pmixhost::local
