// See release.h.
#include "server-glue/debug/release.h"

#include "server-glue/library/convert.h"
#include "server-glue/library/info_list.h"
#include "server-glue/library/pack.h"

#include <algorithm>

namespace pmixhost {

std::optional<std::vector<Process>> let_go_by(const pmix_info_t info[], std::size_t count) {
    std::vector<Process> targets;
    for (std::size_t i = 0; i < count; ++i) {
        const pmix_info_t &entry = info[i];
        if (!PMIX_CHECK_KEY(&entry, PMIX_EVENT_CUSTOM_RANGE))
            continue;
        if (!read_processes(entry.value, targets) || targets.empty())
            return std::nullopt;
    }
    return targets;
}

bool leaves_alone(const pmix_info_t info[], std::size_t count, const std::string &nspace) {
    bool lasts = std::any_of(info, info + count, [](const pmix_info_t &entry) {
        return PMIX_CHECK_KEY(&entry, PMIX_NOHUP) && flag_of(entry.value);
    });
    auto targets = lasts ? let_go_by(info, count) : std::nullopt;
    return targets && (targets->empty() || std::any_of(targets->begin(), targets->end(), [&](const Process &target) {
                           return target.nspace == nspace && target.wildcard;
                       }));
}

// `more`: a flag that it has besides; null: none.
static Result<wire::CrossJobEvent> event_for(const std::vector<Process> &processes, const Process &source,
                                             pmix_status_t status, const char *more) {
    wire::CrossJobEvent event;
    std::vector<pmix_proc_t> targets;
    for (const Process &process : processes) {
        targets.push_back(proc_of(process));
        event.custom.push_back({process.nspace, targets.back().rank});
        event.nspaces = {process.nspace};
    }
    InfoList info;
    info.add(PMIX_EVENT_NON_DEFAULT, true);
    info.add_processes(PMIX_EVENT_CUSTOM_RANGE, targets);
    if (more)
        info.add(more, true);
    auto packed = pack_infos(info.data(), info.size());
    if (!packed)
        return packed.failure();
    event.status = status;
    event.nspace = source.nspace;
    event.rank = source.rank;
    event.range = PMIX_RANGE_CUSTOM;
    event.info_count = static_cast<std::uint32_t>(info.size());
    event.info = std::move(*packed);
    return event;
}

Result<wire::CrossJobEvent> release_of(const std::vector<Process> &processes, const Process &source, bool for_good) {
    return event_for(processes, source, PMIX_DEBUGGER_RELEASE, for_good ? PMIX_NOHUP : nullptr);
}

// Who registers later for everything has nothing of it.
Result<wire::CrossJobEvent> pause_over_for(const std::vector<Process> &processes, const Process &source) {
    return event_for(processes, source, pause_is_over, PMIX_EVENT_DO_NOT_CACHE);
}

} // namespace pmixhost
