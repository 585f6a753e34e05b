// See step_finder.h.
#include "server-glue/cross_job/step_finder.h"

#include <algorithm>

namespace pmixhost {

void StepFinder::find(TimePoint now, const Bytes &nspace, TimePoint deadline, Found found) {
    if (surroundings_.here(nspace))
        return found(Where::here);
    if (waiting_ >= max_waiting)
        return found(Where::unknown);
    auto [search, fresh] = searches_.try_emplace(nspace);
    search->second.waiting.push_back({deadline, std::move(found)});
    ++waiting_;
    if (!fresh)
        return;
    search->second.patience = now + grace;
    surroundings_.call_steps([this, nspace, alive = std::weak_ptr(alive_)](TimePoint when, CalledSteps called) {
        if (!alive.expired())
            on_called(when, nspace, called);
    });
}

void StepFinder::on_called(TimePoint now, const Bytes &nspace, const CalledSteps &called) {
    auto search = searches_.find(nspace);
    if (search == searches_.end())
        return; // it has come, or nobody waits any more
    if (called.known && !called.names.contains(nspace))
        return settle(search, surroundings_.here(nspace)      ? Where::here
                              : called.there.contains(nspace) ? Where::unknown
                                                              : Where::none);
    search->second.calling = false;
    search->second.patience = now + (called.known ? grace : short_grace);
}

void StepFinder::settle(std::map<Bytes, Search>::iterator search, Where where) {
    auto node = searches_.extract(search);
    waiting_ -= node.mapped().waiting.size();
    for (auto &waiting : node.mapped().waiting)
        waiting.found(where);
}

void StepFinder::heard(const Bytes &nspace) {
    if (searches_.empty())
        return;
    if (auto search = searches_.find(nspace); search != searches_.end())
        settle(search, Where::here);
}

TimePoint StepFinder::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[nspace, search] : searches_) {
        if (!search.calling)
            next = std::min(next, search.patience);
        for (const auto &waiting : search.waiting)
            next = std::min(next, waiting.deadline);
    }
    return next;
}

void StepFinder::on_time(TimePoint now) {
    std::vector<Found> late;
    for (auto next = searches_.begin(); next != searches_.end();) {
        auto search = next++;
        auto &waiting = search->second.waiting;
        bool over = !search->second.calling && search->second.patience <= now;
        auto first = std::stable_partition(waiting.begin(), waiting.end(),
                                           [&](const Waiting &each) { return !over && each.deadline > now; });
        for (auto each = first; each != waiting.end(); ++each, --waiting_)
            late.push_back(std::move(each->found));
        waiting.erase(first, waiting.end());
        if (waiting.empty())
            searches_.erase(search);
    }
    for (auto &found : late)
        found(Where::unknown);
}

} // namespace pmixhost
