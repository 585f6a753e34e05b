// See starting_tool.h.
#include "plugins/slurm/shim/starting_tool.h"

#include "common/job/debug_stops.h"
#include "plugins/kit/indirect_launch.h"
#include "plugins/kit/launcher_file.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/shim/hook_env.h"

namespace pmixhost::slurm {

static constexpr std::chrono::milliseconds look_at_held_job{10'000};

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

Result<std::string> ask_for_launcher_file(const LaunchContext &context, Rank first_rank, char ***environment) {
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

// Few hosts are waited for all the same: one with a bad end may be the last to speak.
static ToldEnds ends_of_hosts(ToldEnds wanted, std::size_t hosts) {
    constexpr std::size_t few = 64;
    return wanted == ToldEnds::bad && hosts <= few ? ToldEnds::all : wanted;
}

Result<std::string> await_debugger(const LaunchContext &context, const ClientInfo &info, std::size_t hosts, int channel,
                                   char ***environment) {
    remove_debuggers_variables(*environment);
    if (is_het_component(info))
        return error(ErrorKind::unsupported, "a debugger cannot start a heterogeneous step by srun");
    if (!context.secret.empty())
        return error(ErrorKind::unsupported, "{}: without munge, debuggers do not reach a step",
                     kit::debugger_uri_variable);
    if (context.allocates)
        kit::say_allocated(
            channel, {std::to_string(info.step_id.job_id), namespace_of(info.step_id.job_id, info.step_id.step_id)});
    auto goes_on = [&] { return context.job_goes_on ? context.job_goes_on(info.step_id.job_id) : Result<void>(); };
    auto released = kit::await_release(channel, look_at_held_job, goes_on);
    if (!released)
        return released.failure();
    kit::tell_exit_code(channel);
    Result<void> set = set_variable(environment, std::string(launcher_file_awaited), "1");
    if (set)
        set = set_variable(environment, std::string(launch_awaited), "1");
    // Set in any case: what an outer srun has left there is not for this one.
    if (set)
        set = set_variable(environment, std::string(ends_awaited),
                           std::string(word_of(ends_of_hosts(released->ends, hosts))));
    if (set && !released->stops.empty())
        set = set_variable(environment, std::string(debug_stop_variable), released->stops);
    if (!set)
        return set.failure();
    return released->file;
}

} // namespace pmixhost::slurm
