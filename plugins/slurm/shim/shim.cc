// The plugin mpi/pmixhost: what Slurm looks up in mpi_pmixhost.so, and nothing else. Each hook only
// hands over to its part (prelaunch.h, prefork.h, task_hook.h); no exception leaves here.
//
// Slurm loads this file into srun, slurmctld, slurmd and slurmstepd, some of them load and unload
// it again and again. So: no constructors with effects, no threads but srun's listener (which lives from
// prelaunch to fini) and slurmstepd's offer of the output (from prefork to fini), and in init nothing but
// what a debugger wants that has started srun (plugins/kit/indirect_launch.h), and the refusal of a second one.
#include "plugins/kit/indirect_launch.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/shim/daemon_path.h"
#include "plugins/slurm/shim/held_job.h"
#include "plugins/slurm/shim/prefork.h"
#include "plugins/slurm/shim/prelaunch.h"
#include "plugins/slurm/shim/srun_command.h"
#include "plugins/slurm/shim/srun_context.h"
#include "plugins/slurm/shim/starting_tool.h"
#include "plugins/slurm/shim/task_hook.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#include <sys/prctl.h>

#define PMIXHOST_EXPORT extern "C" __attribute__((visibility("default")))

using namespace pmixhost;
using namespace pmixhost::slurm;

extern "C" {
__attribute__((visibility("default"))) extern const char plugin_name[] = "PMIx host environment";
__attribute__((visibility("default"))) extern const char plugin_type[] = "mpi/pmixhost";
__attribute__((visibility("default"))) extern const std::uint32_t plugin_version = SLURM_VERSION_NUMBER;
#if PMIXHOST_SLURM_HAS_PLUGIN_ID
__attribute__((visibility("default"))) extern const std::uint32_t plugin_id = plugin_id_value;
#endif
}

namespace {

// Lasts from prefork to the tasks, which are forks, and to fini. It is the only state of this file, and null in every
// process but slurmstepd.
Prepared *prepared_step = nullptr;

// Runs a hook's body. What escapes ends here, with a line in the program's log.
template <typename Value, typename Body> Value guarded(const char *where, Value on_failure, Body body) noexcept {
    try {
        return body();
    } catch (const std::exception &problem) {
        slurm_error("pmixhost: %s: %s", where, problem.what());
    } catch (...) {
        slurm_error("pmixhost: %s: unknown exception", where);
    }
    return on_failure;
}

void kill_steps_as_user(const std::vector<std::uint32_t> &jobs, std::uint32_t step) {
    leave_setuid_lock();
    for (std::uint32_t job : jobs) {
        // Slurm's library in a fork of a process with threads: should it wait for ever, the alarm ends
        // this process.
        alarm(20);
        kill_job_step(job, step, SIGKILL);
    }
    alarm(0);
}

} // namespace

// In srun it comes before the allocation is asked for.
PMIXHOST_EXPORT int init() {
    bool for_debugger = getenv(kit::debugger_uri_variable) != nullptr;
    if (!for_debugger && !is_under_mpir_debugger())
        return SLURM_SUCCESS;
    return guarded("init", SLURM_ERROR, [=] {
        if (!in_srun())
            return SLURM_SUCCESS;
        if (auto one = check_one_debugger(is_under_mpir_debugger(), for_debugger, environ); !one) {
            slurm_error("pmixhost: %s", one.failure().text.c_str());
            std::exit(1); // srun would load this once more, and say in the end that there is no such plugin
        }
        if (!for_debugger)
            return SLURM_SUCCESS;
        std::string holder = kit::holder_of_starter();
        if (auto holds = holder.empty() ? Result<void>() : check_holder(programs_of_srun(), holder); !holds) {
            slurm_error("pmixhost: %s", holds.failure().text.c_str());
            std::exit(1);
        }
        std::string daemon = daemon_path(plugin_directory()).path;
        // By these srun knows that it is in an allocation. It sets them itself when it has made one.
        const bool allocates = !getenv("SLURM_JOB_ID") && !getenv("SLURM_JOBID") && option_of_srun("jobid").empty();
        auto begun = kit::begin_indirect_launch(daemon.substr(0, daemon.rfind('/')) + "/pmixhost-indirect", allocates);
        if (!begun)
            slurm_error("pmixhost: %s", begun.failure().text.c_str());
        return begun ? SLURM_SUCCESS : SLURM_ERROR;
    });
}
// In slurmstepd this means that the step is over.
PMIXHOST_EXPORT int fini() {
    return guarded("fini", SLURM_SUCCESS, [] {
        if (std::unique_ptr<Prepared> last(std::exchange(prepared_step, nullptr)); last && !clean_up(*last))
            slurm_error("pmixhost: processes of pmixhostd of step %s cannot be killed", to_text(last->step).c_str());
        return SLURM_SUCCESS;
    });
}

PMIXHOST_EXPORT void *PMIXHOST_HOOK_PRELAUNCH(const void *info, char ***environment) {
    return guarded("prelaunch", static_cast<void *>(nullptr), [&]() -> void * {
        auto context = srun_context();
        context.job_goes_on = job_goes_on;
        auto state = prepare_launch(*static_cast<const ClientInfo *>(info), context, kit::make_sealer(context.secret),
                                    environment);
        if (state)
            return new LaunchState(std::move(*state));
        slurm_error("pmixhost: %s", state.failure().text.c_str());
        return nullptr;
    });
}

PMIXHOST_EXPORT int PMIXHOST_HOOK_FINI(void *opaque) {
    return guarded("fini", SLURM_SUCCESS, [&] {
        std::unique_ptr<LaunchState> state(static_cast<LaunchState *>(opaque));
        return state ? finish_launch(*state, STDERR_FILENO) : SLURM_SUCCESS;
    });
}

// Success even if there is no daemon: a failure here would give the user no more than "unspecified
// error", and only once all hosts have answered. The tasks' hook tells the reason and ends the step.
PMIXHOST_EXPORT int PMIXHOST_HOOK_PREFORK(void *step, char ***environment) {
    return guarded("prefork", SLURM_ERROR, [&] {
        auto prepared = std::make_unique<Prepared>(
            prepare_step(slurmstepd_surroundings(step), environment ? *environment : nullptr));
        if (!prepared->failure.empty())
            slurm_error("pmixhost: pmixhostd was not started for step %s: %s", to_text(prepared->step).c_str(),
                        prepared->failure.c_str());
        prepared_step = prepared.release();
        return SLURM_SUCCESS;
    });
}

PMIXHOST_EXPORT int PMIXHOST_HOOK_TASK(const void *info, char ***environment) {
    return guarded("task", SLURM_ERROR, [&] {
        const auto *task = static_cast<const TaskInfo *>(info);
        if (!prepared_step || !prepared_step->wanted)
            return SLURM_SUCCESS;
        // Slurm's proctrack/linuxproc spares what is still called slurmstepd: a task that waits at
        // the door could not be killed. Until its exec the task has another name.
        prctl(PR_SET_NAME, "pmixhost-task");
        auto ready = prepare_task(*prepared_step, task->gtaskid, environment);
        if (ready)
            return SLURM_SUCCESS;
        auto sealer = kit::make_sealer(prepared_step->secret);
        end_step_from_task(*prepared_step, task->ltaskid == 0, ready.failure().text, *environment,
                           {*sealer, kill_steps_as_user});
        // The caller would do just this, after a line per task that says nothing.
        _exit(1);
    });
}

#if PMIXHOST_SLURM_HAS_CONF_HOOKS
// There is nothing in mpi.conf for us; Slurm takes null for "no options".
PMIXHOST_EXPORT void mpi_p_conf_options(void **, int *) {}
PMIXHOST_EXPORT void mpi_p_conf_set(void *) {}
PMIXHOST_EXPORT void *mpi_p_conf_get() {
    return nullptr;
}
PMIXHOST_EXPORT void *mpi_p_conf_get_printable() {
    return nullptr;
}
#endif
