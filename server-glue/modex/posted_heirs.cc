// See posted_heirs.h.
#include "server-glue/modex/posted_heirs.h"

#include <algorithm>

namespace pmixhost {

bool PostedHeirs::has_left(HostIndex host) const {
    if (left_.contains(host))
        return true;
    auto ranks = map_.ranks_on(host);
    return !ranks.empty() &&
           std::all_of(ranks.begin(), ranks.end(), [this](Rank rank) { return ended_.contains(rank); });
}

HostIndex PostedHeirs::heir_of(HostIndex host, const std::set<HostIndex> &but) const {
    for (HostIndex up = tree_.parent(host); up != no_host; up = tree_.parent(up)) {
        if (!is_gone(up) && !but.contains(up))
            return up;
    }
    while (lowest_ < map_.host_count() && is_gone(lowest_))
        ++lowest_;
    HostIndex heir = lowest_;
    while (heir < map_.host_count() && (heir == host || is_gone(heir) || but.contains(heir)))
        ++heir;
    return heir < map_.host_count() ? heir : no_host;
}

// The data is, or was, with a host of the line before us, whose farewell comes behind it.
bool PostedHeirs::may_still_come(HostIndex home, const std::function<bool(HostIndex)> &connected) const {
    if (connected(home))
        return true;
    for (HostIndex up = tree_.parent(home); up != no_host; up = tree_.parent(up)) {
        if (up == self_)
            return false;
        if (connected(up))
            return true;
    }
    for (HostIndex host = 0; host < self_; ++host) {
        if (connected(host))
            return true;
    }
    return false;
}

bool PostedHeirs::keep(Rank rank, std::string data) {
    HostIndex home = map_.host_of(rank);
    if (home == no_host || home == self_)
        return false;
    std::string &place = kept_[rank];
    if (bytes_ - place.size() + data.size() > max_bytes) {
        if (place.empty())
            kept_.erase(rank);
        return false;
    }
    bytes_ += data.size() - place.size();
    place = std::move(data);
    return true;
}

const std::string *PostedHeirs::kept(Rank rank) const {
    auto found = kept_.find(rank);
    return found == kept_.end() ? nullptr : &found->second;
}

} // namespace pmixhost
