// See standing.h.
#include "server-glue/indirect/standing.h"

#include <algorithm>

namespace pmixhost::indirect {

Standing::Standing(const DebugStops &stops) {
    for (StopPlace place : stop_places) {
        if (!stops.at(place).empty())
            places_.push_back(stops.at(place));
    }
}

void Standing::go_on(const std::vector<Process> &processes, const std::string &nspace) {
    const bool is_all = processes.empty() || std::any_of(processes.begin(), processes.end(), [&](const Process &each) {
                            return each.nspace == nspace && each.wildcard;
                        });
    if (is_all) {
        if (!places_.empty())
            places_.erase(places_.begin());
        return;
    }
    for (const Process &each : processes) {
        auto stands_at = std::find_if(places_.begin(), places_.end(),
                                      [&](const RankRanges &place) { return place.contains(each.rank); });
        if (each.nspace != nspace || stands_at == places_.end())
            continue;
        RankRanges one;
        one.add(each.rank, each.rank);
        stands_at->subtract(one);
    }
    std::erase_if(places_, [](const RankRanges &place) { return place.empty(); });
}

bool Standing::any() const {
    return !places_.empty();
}

} // namespace pmixhost::indirect
