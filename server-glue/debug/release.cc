// See release.h.
#include "server-glue/debug/release.h"

#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/info_list.h"

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

Result<wire::CrossJobEvent> release_of_job(const std::string &nspace, const Process &source) {
    InfoList info;
    info.add(PMIX_EVENT_NON_DEFAULT, true);
    info.add_processes(PMIX_EVENT_CUSTOM_RANGE, {proc_of(nspace, PMIX_RANK_WILDCARD)});
    auto packed = pack_infos(info.data(), info.size());
    if (!packed)
        return packed.failure();
    wire::CrossJobEvent event;
    event.nspaces = {nspace};
    event.status = PMIX_DEBUGGER_RELEASE;
    event.nspace = source.nspace;
    event.rank = source.rank;
    event.range = PMIX_RANGE_CUSTOM;
    event.custom = {{nspace, PMIX_RANK_WILDCARD}};
    event.info_count = static_cast<std::uint32_t>(info.size());
    event.info = std::move(*packed);
    return event;
}

} // namespace pmixhost
