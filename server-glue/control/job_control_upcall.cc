// Upcall of job_control. What the library does by itself (files to be removed at the end) does not come here, or is
// passed over when it comes along with what does.
#include "server-glue/control/job_control_ask.h"
#include "server-glue/library/upcall_tools.h"

#include <csignal>
#include <cstring>
#include <utility>

namespace pmixhost {

namespace {

using namespace upcall;

bool is_librarys(const pmix_info_t &info) {
    for (const char *key : {PMIX_REGISTER_CLEANUP, PMIX_REGISTER_CLEANUP_DIR, PMIX_CLEANUP_RECURSIVE,
                            PMIX_CLEANUP_IGNORE, PMIX_CLEANUP_LEAVE_TOPDIR}) {
        if (PMIX_CHECK_KEY(&info, key))
            return true;
    }
    return false;
}

struct Checkpoint {
    const pmix_info_t *directive = nullptr; // PMIX_JOB_CTRL_CHECKPOINT
    bool event = false;
    std::vector<const pmix_info_t *> numbers; // a signal, or a timeout: both have the same key
};

void unsupported(const pmix_info_t &info, JobControlAsk &ask) {
    ask.unsupported.push_back(key_of(info));
    if (PMIX_INFO_IS_REQUIRED(&info))
        ask.refused = PMIX_ERR_NOT_SUPPORTED;
}

// Says what may be done to the job or how; nothing is to be done now. That it may not be preempted is no
// declaration but a wish, which the RM cannot fulfil.
bool declares(const pmix_info_t &info) {
    return (PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_PREEMPTIBLE) && flag_of(info.value)) ||
           PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_CHECKPOINT_METHOD);
}

// The RM makes no checkpoints: what can be done is to tell the processes, which make their own. A number
// beside the event is the timeout: taken for a signal, it would kill them.
pmix_status_t read_checkpoint(const Checkpoint &checkpoint, JobControlAsk &ask) {
    if (!checkpoint.directive) {
        bool nothing = !checkpoint.event && checkpoint.numbers.empty();
        return nothing ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM; // no id
    }
    if (!checkpoint.event && checkpoint.numbers.empty()) {
        unsupported(*checkpoint.directive, ask);
        return PMIX_SUCCESS;
    }
    const pmix_value_t &id = checkpoint.directive->value;
    if (id.type != PMIX_STRING || !id.data.string || checkpoint.numbers.size() > 1)
        return PMIX_ERR_BAD_PARAM;
    ask.order.checkpoint = id.data.string;
    ask.order.notifies = checkpoint.event;
    if (checkpoint.numbers.empty())
        return PMIX_SUCCESS;
    const pmix_info_t &number = *checkpoint.numbers.front();
    if (checkpoint.event) { // nobody waits for the end of a checkpoint here
        unsupported(number, ask);
        return PMIX_SUCCESS;
    }
    auto signal = number_of(number.value);
    if (!signal || *signal <= 0 || *signal >= NSIG)
        return PMIX_ERR_BAD_PARAM;
    ask.order.signals.push_back(static_cast<std::int32_t>(*signal));
    return PMIX_SUCCESS;
}

// Reads a directive. If it cannot be met, all of the request is refused where it was required, or where nothing else
// is asked.
pmix_status_t read(const pmix_info_t &info, JobControlAsk &ask, Checkpoint &checkpoint) {
    const std::pair<const char *, int> flags[] = {{PMIX_JOB_CTRL_KILL, SIGKILL},
                                                  {PMIX_JOB_CTRL_TERMINATE, SIGTERM},
                                                  {PMIX_JOB_CTRL_PAUSE, SIGSTOP},
                                                  {PMIX_JOB_CTRL_RESUME, SIGCONT}};
    for (const auto &[key, signal] : flags) {
        if (!PMIX_CHECK_KEY(&info, key))
            continue;
        if (flag_of(info.value))
            ask.order.signals.push_back(signal);
        return PMIX_SUCCESS;
    }
    if (PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_CHECKPOINT)) {
        checkpoint.directive = &info;
    } else if (PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_CHECKPOINT_EVENT)) {
        checkpoint.event = flag_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_CHECKPOINT_SIGNAL)) {
        checkpoint.numbers.push_back(&info);
    } else if (PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_SIGNAL)) {
        auto number = number_of(info.value);
        if (!number || *number <= 0 || *number >= NSIG)
            return PMIX_ERR_BAD_PARAM;
        ask.order.signals.push_back(static_cast<std::int32_t>(*number));
    } else if (PMIX_CHECK_KEY(&info, PMIX_TIMEOUT)) {
        ask.timeout = seconds_of(info.value);
    } else if (PMIX_CHECK_KEY(&info, PMIX_RANGE)) {
        auto range = range_of(info.value);
        if (range != PMIX_RANGE_SESSION && range != PMIX_RANGE_NAMESPACE)
            return PMIX_ERR_BAD_PARAM;
        ask.everyone = range == PMIX_RANGE_SESSION;
    } else if (declares(info)) {
        ask.declared.push_back(key_of(info));
    } else if (!PMIX_CHECK_KEY(&info, PMIX_JOB_CTRL_ID) && !is_librarys(info)) {
        unsupported(info, ask);
    }
    return PMIX_SUCCESS;
}

pmix_status_t on_job_control(const pmix_proc_t *requestor, const pmix_proc_t targets[], std::size_t count,
                             const pmix_info_t directives[], std::size_t ndirs, pmix_info_cbfunc_t callback,
                             void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        JobControlAsk ask;
        Checkpoint checkpoint;
        for (std::size_t i = 0; directives && i < ndirs; ++i) {
            if (pmix_status_t status = read(directives[i], ask, checkpoint); status != PMIX_SUCCESS)
                return status;
        }
        if (pmix_status_t status = read_checkpoint(checkpoint, ask); status != PMIX_SUCCESS)
            return status;
        if (ask.order.signals.size() > JobControlAsk::max_signals)
            return PMIX_ERR_BAD_PARAM;
        if (ask.order.signals.empty() && !ask.order.notifies && ask.declared.empty() && ask.refused == PMIX_SUCCESS)
            ask.refused = ask.unsupported.empty() ? PMIX_ERR_BAD_PARAM : PMIX_ERR_NOT_SUPPORTED;
        if (count > JobControlAsk::max_targets) // before they are copied
            return PMIX_ERR_OUT_OF_RESOURCE;
        ask.caller = process_of(*requestor);
        ask.targets = processes_of(targets, count);
        if (ask.everyone && !ask.targets.empty())
            return PMIX_ERR_BAD_PARAM;
        ask.reply = {[callback, data](pmix_status_t status) {
                         in_progress_thread(
                             [callback, data, status] { callback(status, nullptr, 0, data, nullptr, nullptr); });
                     },
                     PMIX_ERROR};
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_job_control_upcall(pmix_server_module_t &module) {
    module.job_control = on_job_control;
}
} // namespace upcall

} // namespace pmixhost
