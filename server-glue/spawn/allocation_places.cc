// See allocation_places.h.
#include "server-glue/spawn/allocation_places.h"

#include "common/text/printable.h"

#include <algorithm>
#include <vector>

namespace pmixhost {

static constexpr std::size_t most_given_at_once = 64;

AllocationPlaces::AllocationPlaces(EventLoop &loop, Log &log, Calls calls, std::size_t most_waiting,
                                   std::function<void()> on_given_back)
    : loop_(loop), log_(log), calls_(std::move(calls)), on_given_back_(std::move(on_given_back)),
      starters_(loop, most_waiting), givers_(loop, most_given_at_once) {}

std::shared_ptr<JobStarter> AllocationPlaces::enter(const std::string &allocation, bool gives_back) {
    Place &place = places_[allocation];
    ++place.requests;
    place.left = false;
    place.timer.reset();
    place.gives_back = place.gives_back || (gives_back && !allocation.empty());
    return place.starter;
}

void AllocationPlaces::find_starter(const std::string &allocation, std::chrono::milliseconds limit, Found found) {
    limit = std::min(limit, starter_patience);
    starters_.run(
        "starter " + allocation, loop_.now() + limit,
        [make = calls_.make_starter, allocation] { return make(allocation); },
        [this, allocation, limit, found = std::move(found)](Result<std::shared_ptr<JobStarter>> made) {
            // Whoever asked may have left meanwhile; or an earlier call has made it.
            if (auto place = places_.find(allocation); place != places_.end()) {
                if (made && !place->second.starter)
                    place->second.starter = *made;
                if (place->second.starter)
                    made = place->second.starter;
            }
            if (!made && made.failure().kind == ErrorKind::timeout)
                made = error(ErrorKind::timeout, "the resource manager has not answered within {} s",
                             static_cast<double>(limit.count()) / 1000.0);
            found(std::move(made));
        });
}

// The own one stays as it is known.
void AllocationPlaces::leave(const std::string &allocation) {
    auto found = places_.find(allocation);
    if (found == places_.end() || --found->second.requests > 0 || allocation.empty())
        return;
    Place &place = found->second;
    if (!place.gives_back)
        places_.erase(found);
    else if (place.left || closed_)
        give_back(allocation);
    else
        place.timer = loop_.after(calls_.lobby_patience, [this, allocation] { give_back(allocation); });
}

void AllocationPlaces::lobby_leaves(const std::string &allocation) {
    auto place = places_.find(allocation);
    if (place == places_.end() || !place->second.gives_back)
        return;
    place->second.left = true;
    if (place->second.requests == 0)
        give_back(allocation);
}

void AllocationPlaces::close() {
    closed_ = true;
    std::vector<std::string> idle;
    for (const auto &[allocation, place] : places_) {
        if (place.gives_back && place.requests == 0)
            idle.push_back(allocation);
    }
    for (const auto &allocation : idle)
        give_back(allocation);
}

void AllocationPlaces::give_back(const std::string &allocation) {
    auto place = places_.extract(allocation); // its timer may be what calls
    ++giving_;
    give_back(place.key(), most_returns);
}

void AllocationPlaces::give_back(const std::string &allocation, unsigned tries) {
    givers_.run(
        {}, TimePoint::max(), [give = calls_.give_back, allocation] { return give(allocation); },
        [this, allocation, tries](Result<void> given) {
            if (!given && tries > 1) {
                std::uint64_t number = next_try_++;
                tries_[number] = loop_.after(calls_.return_again, [this, number, allocation, tries] {
                    auto keep = tries_.extract(number);
                    give_back(allocation, tries - 1);
                });
                return;
            }
            if (!given)
                log_.error("allocation {} is not given back: {}", printable(allocation), given.failure().text);
            --giving_;
            on_given_back_();
        });
}

} // namespace pmixhost
