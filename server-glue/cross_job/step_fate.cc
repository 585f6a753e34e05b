// See step_fate.h.
#include "server-glue/cross_job/step_fate.h"

#include <algorithm>
#include <cstring>
#include <pmix.h>

namespace pmixhost {

void StepFate::learn_kin(const wire::NamespaceInfo &info) {
    const auto &parent = context_.step.parent;
    bool is_child = info.shares_fate_with == context_.step.nspace;
    bool is_parent = parent && parent->shares_fate && parent->nspace == info.nspace;
    if (is_child || is_parent)
        fate_.add_kin(info.nspace, info.job_id);
}

bool StepFate::wants_event(pmix_status_t code, const Bytes &nspace) const {
    return code == PMIX_ERR_PROC_ABORTED && fate_.is_kin(nspace);
}

// What the daemons of connected jobs tell (StepEvents::report_cross_job).
void StepFate::on_event(pmix_status_t, const Process &source, const InfoList &info) {
    std::optional<int> exit_code;
    for (const pmix_info_t &each : info.all()) {
        if (std::strcmp(each.key, PMIX_EXIT_CODE) == 0 && each.value.type == PMIX_INT)
            exit_code = each.value.data.integer;
    }
    fate_.on_bad_end(context_.now(), source.nspace, source.rank, exit_code, is_running_child_(source.nspace));
}

static std::optional<int> exit_code_of(const wire::EndedProcess &ended) {
    return ended.exit_code < 0 ? std::nullopt : std::optional<int>(ended.exit_code);
}

void StepFate::on_bad_ends(const wire::HostReport &report) {
    for (const auto &ended : report.processes) {
        if (ended.code == PMIX_ERR_PROC_ABORTED)
            fate_.on_bad_end(context_.now(), context_.step.nspace, ended.rank, exit_code_of(ended), false);
    }
}

// Of jobs that are connected the host of the process knows it: it took part in the connect.
bool StepFate::is_end_of_job(const wire::EndedProcess &ended) const {
    if (context_.ends_on_bad_exit && ended.exit_code > 0)
        return true;
    return !context_.live_on && ended.code == PMIX_ERR_PROC_ABORTED &&
           fate_.is_end_of_all(context_.step.nspace, ended.rank, exit_code_of(ended));
}

void StepFate::on_time(TimePoint now) {
    auto verdict = fate_.on_time(now);
    if (!verdict || context_.ending || context_.live_on)
        return;
    // Processes that have finalized wait for nobody any more.
    auto here = context_.ranks_here();
    if (std::none_of(here.begin(), here.end(), [this](Rank rank) {
            return context_.tasks->connected(rank) && !context_.tasks->finalized(rank) && !context_.tasks->gone(rank);
        }))
        return;
    context_.log.info("{}; the step is ended", verdict->text);
    context_.end_step({verdict->exit_status, verdict->text + "; the step is ended"});
}

} // namespace pmixhost
