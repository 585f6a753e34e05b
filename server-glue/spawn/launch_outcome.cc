// See launch_outcome.h.
#include "server-glue/spawn/launch_outcome.h"

#include "common/start/spawn_channel.h"
#include "common/text/printable.h"
#include "server-glue/rm/spawned_step.h"

#include <cerrno>
#include <pmix.h>

namespace pmixhost {

// The launch is told only where spawned_step() is not null.
void LaunchOutcome::launched() {
    context_.backend.spawned_step()->report_launch({}, [this](Result<void> told) {
        if (!told)
            context_.log.warning("whoever started this job does not hear that it runs: {}", told.failure().text);
    });
}

void LaunchOutcome::first_runs() {
    if (context_.step.parent && (context_.step.parent->tells & ParentWord::first_start) == 0)
        return;
    context_.backend.spawned_step()->report_start([this](Result<void> told) {
        if (!told)
            context_.log.warning("whoever started this job does not hear at once that it has begun: {}",
                                 told.failure().text);
    });
}

static int launch_status(const TaskStartFailure &failure) {
    if (failure.error_number == EACCES || failure.error_number == EPERM)
        return failure.stage == 'p' ? PMIX_ERR_JOB_APP_NOT_EXECUTABLE : PMIX_ERR_NO_PERMISSIONS;
    bool absent = failure.error_number == ENOENT || failure.error_number == ENOTDIR;
    if (failure.stage == 'd')
        return absent ? PMIX_ERR_JOB_WDIR_NOT_FOUND : PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    if (failure.stage == 'p')
        return absent ? PMIX_ERR_JOB_EXE_NOT_FOUND : PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
    return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
}

void LaunchOutcome::failed(const TaskStartFailure &failure, UniqueFd task) {
    unstarted_.push_back(std::move(task)); // until the RM has ended it, so that the report goes out first
    if (unstarted_.size() > 1)
        return;
    std::string text = fmt::format("{}: {}", context_.host_name(), one_line(failure.text));
    context_.log.info("{}", text);
    int code = failure.error_number > 0 && failure.error_number < 128 ? failure.error_number : 1;
    context_.backend.spawned_step()->report_launch({launch_status(failure), text}, [this, code, text](Result<void>) {
        context_.backend.end_step({code, text}, [this](Result<void>) { unstarted_.clear(); });
    });
}

} // namespace pmixhost
