// See release.h.
#include "server-glue/debug/release.h"

#include "server-glue/library/convert.h"

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

} // namespace pmixhost
