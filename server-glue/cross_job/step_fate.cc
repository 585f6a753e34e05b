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
    fate_.on_bad_end(context_.now(), source.nspace, source.rank, exit_code, children_.contains(source.nspace));
}

void StepFate::on_bad_ends(const wire::HostReport &report) {
    for (const auto &ended : report.processes) {
        if (ended.code != PMIX_ERR_PROC_ABORTED)
            continue;
        std::optional<int> exit_code;
        if (ended.exit_code >= 0)
            exit_code = ended.exit_code;
        fate_.on_bad_end(context_.now(), context_.step.nspace, ended.rank, exit_code, false);
    }
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
