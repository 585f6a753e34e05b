// See standing.h.
#include "server-glue/debug/standing.h"

#include <algorithm>

namespace pmixhost {

Standing::Standing(const DebugStops &stops) {
    for (StopPlace place : stop_places) {
        if (!stops.at(place).empty())
            places_[place] = stops.at(place);
    }
}

void Standing::stand_at(StopPlace place, const std::vector<Rank> &ranks) {
    auto found = places_.find(place);
    if (found == places_.end())
        return;
    RankRanges others = found->second, named;
    for (Rank rank : ranks)
        named.add(rank, rank);
    others.subtract(named);
    found->second.subtract(others);
    if (found->second.empty())
        places_.erase(found);
}

void Standing::let_go(Places &from, const std::vector<Process> &processes, const std::string &nspace) {
    const bool is_all = processes.empty() || std::any_of(processes.begin(), processes.end(), [&](const Process &each) {
                            return each.nspace == nspace && each.wildcard;
                        });
    if (is_all) {
        RankRanges before; // those who come to an earlier place
        for (auto &[place, ranks] : from) {
            RankRanges here = ranks;
            here.subtract(before);
            before.add_all(ranks);
            ranks.subtract(here);
        }
    }
    for (const Process &each : processes) {
        auto stands_at =
            std::find_if(from.begin(), from.end(), [&](const auto &place) { return place.second.contains(each.rank); });
        if (is_all || each.nspace != nspace || stands_at == from.end())
            continue;
        RankRanges one;
        one.add(each.rank, each.rank);
        stands_at->second.subtract(one);
    }
    std::erase_if(from, [](const auto &place) { return place.second.empty(); });
}

void Standing::released(const std::vector<Process> &processes, const std::string &nspace) {
    let_go(places_, processes, nspace);
}

void Standing::resumed(const std::vector<Process> &processes, const std::string &nspace) {
    auto exec = places_.extract(StopPlace::exec);
    if (!exec)
        return;
    Places first;
    first.insert(std::move(exec));
    let_go(first, processes, nspace);
    places_.merge(first);
}

} // namespace pmixhost
