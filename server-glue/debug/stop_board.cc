// See stop_board.h.
#include "server-glue/debug/stop_board.h"

#include <algorithm>

namespace pmixhost {

StopBoard::StopBoard(HostPort &hosts, StopPort &port, const JobMap &map, HostIndex self, const DebugStops &stops)
    : hosts_(hosts), port_(port), map_(map), self_(self), stops_(stops) {
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        Place &place = places_[i];
        place.own.place = static_cast<std::uint8_t>(i);
        for (auto [first, last] : stops_.at(stop_places[i]).ranges()) {
            for (Rank rank = first; rank <= last && rank < map_.rank_count(); ++rank) {
                place.hosts.insert(map_.host_of(rank));
                if (map_.host_of(rank) == self_)
                    place.missing.insert(rank);
            }
        }
        place.waiting = place.hosts;
    }
}

void StopBoard::stopped(StopPlace at, Rank rank, const Bytes &breakpoint) {
    auto number = static_cast<std::size_t>(at);
    Place &place = places_[number];
    if (place.missing.erase(rank) == 0)
        return;
    place.own.ranks.push_back({rank, rank});
    if (place.own.breakpoint.empty())
        place.own.breakpoint = breakpoint;
    if (place.missing.empty())
        say(number);
}

void StopBoard::ended(Rank rank) {
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        Place &place = places_[i];
        bool was_missing = place.missing.erase(rank) > 0;
        std::erase_if(place.own.ranks, [rank](const wire::RankRange &one) { return one.first == rank; });
        if (was_missing && place.missing.empty())
            say(i);
    }
}

void StopBoard::say(std::size_t number) {
    Place &place = places_[number];
    place.said = true;
    HostIndex first = *place.hosts.begin(); // this one is among them
    if (first == self_)
        gather(number, self_, place.own);
    else
        hosts_.send(first, wire::RanksStopped::type, share(wire::encode(place.own)));
}

void StopBoard::on_stopped(HostIndex from, const wire::RanksStopped &message) {
    if (message.place >= stop_place_count)
        return;
    for (const auto &range : message.ranks) {
        // Each is one rank: what a host has need not be in a row.
        if (range.first != range.last || map_.host_of(range.first) != from)
            return;
    }
    gather(message.place, from, message);
}

void StopBoard::gather(std::size_t number, HostIndex from, const wire::RanksStopped &message) {
    Place &place = places_[number];
    if (place.waiting.erase(from) == 0)
        return;
    for (const auto &range : message.ranks)
        place.stopped.add(range.first, range.last);
    if (place.breakpoint.empty())
        place.breakpoint = message.breakpoint;
    judge(number);
}

void StopBoard::judge(std::size_t number) {
    Place &place = places_[number];
    if (place.told || !place.waiting.empty() || place.stopped.empty() || *place.hosts.begin() != self_)
        return;
    place.told = true;
    port_.all_stopped(stop_places[number], place.breakpoint, place.stopped);
}

void StopBoard::on_host_gone(HostIndex host) {
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        Place &place = places_[i];
        if (host == self_ || !place.hosts.contains(host))
            continue;
        bool was_first = *place.hosts.begin() == host;
        place.hosts.erase(host);
        bool was_waiting = place.waiting.erase(host) > 0;
        if (place.hosts.empty())
            continue;
        if (was_first && place.said)
            say(i);
        if (was_waiting)
            judge(i);
    }
}

} // namespace pmixhost
