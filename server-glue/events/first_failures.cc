// See first_failures.h.
#include "server-glue/events/first_failures.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

void FirstFailures::note(TimePoint now, const std::string &nspace, std::uint64_t time, FirstFailure failure) {
    if (known_.size() >= most && !known_.contains(nspace))
        return;
    auto [known, fresh] = known_.try_emplace(nspace, Known{time, failure});
    if (!fresh && time < known->second.time)
        known->second = {time, failure};
    for (auto &waiting : waiting_) {
        if (waiting.nspace == nspace)
            waiting.until = std::min(waiting.until, now + others);
    }
}

void FirstFailures::take(TimePoint now, const std::string &nspace, Then then) {
    waiting_.push_back({nspace, now + (known_.contains(nspace) ? others : patience), std::move(then)});
}

bool FirstFailures::waits(const std::string &nspace) const {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto &one) { return one.nspace == nspace; });
}

TimePoint FirstFailures::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &waiting : waiting_)
        next = std::min(next, waiting.until);
    return next;
}

void FirstFailures::tell(Waiting waiting) {
    auto known = known_.extract(waiting.nspace);
    waiting.then(known ? std::optional(known.mapped().failure) : std::nullopt);
}

void FirstFailures::on_time(TimePoint now) {
    auto due = [now](const Waiting &waiting) { return waiting.until <= now; };
    for (auto next = std::find_if(waiting_.begin(), waiting_.end(), due); next != waiting_.end();
         next = std::find_if(waiting_.begin(), waiting_.end(), due)) {
        Waiting waiting = std::move(*next);
        waiting_.erase(next);
        tell(std::move(waiting));
    }
}

void FirstFailures::finish() {
    for (auto &waiting : std::exchange(waiting_, {}))
        tell(std::move(waiting));
}

} // namespace pmixhost
