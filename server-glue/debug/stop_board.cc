// See stop_board.h.
#include "server-glue/debug/stop_board.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

StopBoard::StopBoard(HostPort &hosts, StopPort &port, const JobMap &map, HostIndex self, const DebugStops &stops)
    : hosts_(hosts), port_(port), map_(map), self_(self), stops_(stops) {
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        Place &place = places_[i];
        for (auto [first, last] : stops_.at(stop_places[i]).ranges()) {
            for (Rank rank = first; rank <= last && rank < map_.rank_count(); ++rank) {
                place.hosts.insert(map_.host_of(rank));
                if (map_.host_of(rank) == self_)
                    place.own[rank] = {};
            }
        }
        place.waiting = place.hosts;
    }
}

void StopBoard::stopped(StopPlace at, Rank rank, const Bytes &breakpoint) {
    auto number = static_cast<std::size_t>(at);
    Place &place = places_[number];
    auto found = place.own.find(rank);
    if (found == place.own.end() || std::exchange(found->second.stands, true))
        return;
    ++found->second.stops;
    place.breakpoint = breakpoint;
    look(number);
}

void StopBoard::released(Rank rank) {
    for (Place &place : places_) {
        if (auto found = place.own.find(rank); found != place.own.end())
            found->second.stands = false;
    }
}

void StopBoard::ended(Rank rank) {
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        if (places_[i].own.erase(rank) > 0)
            look(i);
    }
}

void StopBoard::look(std::size_t number) {
    Place &place = places_[number];
    std::uint32_t round = no_more;
    for (const auto &[rank, one] : place.own)
        round = std::min(round, one.stops);
    if (round <= place.said)
        return;
    place.said = round;
    say(number);
}

void StopBoard::say(std::size_t number) {
    Place &place = places_[number];
    wire::RanksStopped message;
    if (place.own.empty())
        place.said = no_more;
    message.place = static_cast<std::uint8_t>(number);
    message.round = place.said;
    message.breakpoint = place.breakpoint;
    for (const auto &[rank, one] : place.own)
        message.ranks.push_back({rank, rank});
    HostIndex first = *place.hosts.begin(); // this one is among them
    if (first == self_)
        gather(number, self_, message);
    else
        hosts_.send(first, wire::RanksStopped::type, share(wire::encode(message)));
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
    if (!place.hosts.contains(from))
        return;
    Reached &reached = place.reached[from];
    if (message.round <= reached.round)
        return;
    reached = {message.round, message.breakpoint, {}};
    for (const auto &range : message.ranks)
        reached.ranks.add(range.first, range.last);
    if (message.round > place.told && place.waiting.erase(from) > 0)
        judge(number);
}

void StopBoard::judge(std::size_t number) {
    Place &place = places_[number];
    if (!place.waiting.empty() || place.hosts.empty() || *place.hosts.begin() != self_)
        return;
    std::uint32_t round = no_more;
    Bytes breakpoint;
    RankRanges ranks;
    for (HostIndex host : place.hosts) {
        const Reached &reached = place.reached[host];
        round = std::min(round, reached.round);
        ranks.add_all(reached.ranks);
        if (breakpoint.empty())
            breakpoint = reached.breakpoint;
    }
    if (ranks.empty())
        return; // all have ended
    port_.all_stopped(stop_places[number], round, breakpoint, ranks);
    place.told = round; // also where it has heard of this itself by was_told()
    await_next(place);
}

void StopBoard::await_next(Place &place) {
    place.waiting.clear();
    for (HostIndex host : place.hosts) {
        auto reached = place.reached.find(host);
        if (reached == place.reached.end() || reached->second.round <= place.told)
            place.waiting.insert(host);
    }
}

void StopBoard::was_told(StopPlace at, std::uint32_t round) {
    Place &place = places_[static_cast<std::size_t>(at)];
    place.told = std::max(place.told, round);
    await_next(place);
}

void StopBoard::on_host_gone(HostIndex host) {
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        Place &place = places_[i];
        if (host == self_ || !place.hosts.contains(host))
            continue;
        bool was_first = *place.hosts.begin() == host;
        place.hosts.erase(host);
        place.reached.erase(host);
        bool was_waiting = place.waiting.erase(host) > 0;
        if (place.hosts.empty())
            continue;
        if (was_first && place.said > 0 && place.hosts.contains(self_))
            say(i);
        if (was_waiting)
            judge(i);
    }
}

} // namespace pmixhost
