// The part of StepServer that ends this job when one that it shares its fate with ends badly, and the
// other way round (shared_fate.h).
#include "server-glue/step_server.h"

#include "server-glue/host_events.h"

#include <algorithm>
#include <cstring>
#include <pmix.h>

namespace pmixhost {

void StepServer::learn_kin(const wire::NamespaceInfo &info) {
    bool child = info.shares_fate_with == step_.nspace;
    bool parent = step_.parent && step_.parent->shares_fate && step_.parent->nspace == info.nspace;
    if (child || parent)
        fate_.add_kin(info.nspace, info.job_id);
}

// What the daemons of connected jobs tell (report_abroad).
void StepServer::note_fate(const wire::EventNotice &notice) {
    if (notice.status != PMIX_ERR_PROC_ABORTED || !fate_.is_kin(notice.nspace))
        return;
    std::optional<int> exit_code;
    if (auto info = unpack_infos(notice.info, notice.info_count)) {
        for (const pmix_info_t &each : (*info)->all()) {
            if (std::strcmp(each.key, PMIX_EXIT_CODE) == 0 && each.value.type == PMIX_INT)
                exit_code = each.value.data.integer;
        }
    }
    fate_.on_bad_end(loop_.now(), notice.nspace, notice.rank, exit_code, children_.contains(notice.nspace));
    arm_timer();
}

void StepServer::note_fate(const wire::HostReport &report) {
    for (const auto &ended : report.processes) {
        if (ended.code != PMIX_ERR_PROC_ABORTED)
            continue;
        std::optional<int> exit_code;
        if (ended.exit_code >= 0)
            exit_code = ended.exit_code;
        fate_.on_bad_end(loop_.now(), step_.nspace, ended.rank, exit_code, false);
    }
    arm_timer();
}

void StepServer::share_fate() {
    auto verdict = fate_.on_time(loop_.now());
    if (!verdict || ending_ || live_on_)
        return;
    // Processes that have finalized wait for nobody any more.
    auto here = step_.map.ranks_on(step_.self);
    if (std::none_of(here.begin(), here.end(), [this](Rank rank) {
            return tasks_.connected(rank) && !tasks_.finalized(rank) && !tasks_.gone(rank);
        }))
        return;
    log_.info("{}; the step is ended", verdict->text);
    backend_.end_step({verdict->exit_status, verdict->text + "; the step is ended"}, [this](Result<void> ended) {
        if (!ended)
            log_.error("the step could not be ended: {}", ended.failure().text);
    });
}

} // namespace pmixhost
