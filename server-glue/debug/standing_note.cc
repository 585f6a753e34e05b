// See standing_note.h.
#include "server-glue/debug/standing_note.h"

#include <fmt/format.h>

namespace pmixhost {

std::string standing_note(StopPlace place, const RankRanges &ranks, const std::string &job) {
    std::uint64_t count = 0;
    for (auto [first, last] : ranks.ranges())
        count += last - first + 1;
    std::string_view where = place == StopPlace::exec   ? "at their first instruction"
                             : place == StopPlace::init ? "in PMIx_Init"
                                                        : "where their program waits for a debugger";
    std::string next =
        place == StopPlace::exec
            ? fmt::format("pmixhost resume {}", job)
            : fmt::format("a tool that lets them go (PMIX_DEBUGGER_RELEASE), or end the job, and pmixhost "
                          "debug --stop {} ...",
                          stop_place_words[static_cast<std::size_t>(place)]);
    return fmt::format("job {}: {} {} {}, for a debugger (debug.stop, or {} in the environment); next: {}", job, count,
                       count == 1 ? "process stands" : "processes stand", where, debug_stop_variable, next);
}

} // namespace pmixhost
