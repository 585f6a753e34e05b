// See session_watch.h.
#include "server-glue/allocation/session_watch.h"

#include <algorithm>
#include <vector>

namespace pmixhost {

// For the RM to have ended it, when its time is up.
static constexpr Duration after_its_end = std::chrono::seconds(1);

void SessionWatch::begin(const std::string &allocation, const std::string &request_id, std::uint32_t seconds) {
    if (sessions_.size() >= max_watched)
        return;
    TimePoint now = port_.time_now();
    TimePoint end = seconds == UINT32_MAX ? TimePoint::max() : now + std::chrono::seconds(seconds) + after_its_end;
    sessions_[allocation] = {request_id, now + first_question, end, first_question};
}

bool SessionWatch::ended(const std::string &allocation) {
    sessions_.erase(allocation);
    return told_.insert(allocation);
}

TimePoint SessionWatch::next_time() const {
    TimePoint next = TimePoint::max();
    if (asked_ == max_asked)
        return next; // an answer makes room
    for (const auto &[allocation, session] : sessions_)
        next = std::min(next, session.next);
    return next;
}

void SessionWatch::on_time(TimePoint now) {
    std::vector<std::string> due;
    for (auto &[allocation, session] : sessions_) {
        if (session.next > now || asked_ == max_asked)
            continue;
        ++asked_;
        session.next = TimePoint::max();
        due.push_back(allocation);
    }
    for (const auto &allocation : due)
        port_.ask_whether_over(allocation, [this, allocation, alive = std::weak_ptr(alive_)](const Result<bool> &over) {
            if (alive.expired())
                return;
            --asked_;
            on_answer(allocation, over);
        });
}

void SessionWatch::on_answer(const std::string &allocation, const Result<bool> &over) {
    auto found = sessions_.find(allocation);
    if (found == sessions_.end())
        return;
    if (!over && over.failure().kind == ErrorKind::unsupported) {
        sessions_.erase(found);
        return;
    }
    if (over ? *over : over.failure().kind == ErrorKind::not_found) {
        std::string request_id = std::move(found->second.request_id);
        if (ended(allocation))
            port_.session_ended(allocation, request_id);
        return;
    }
    Session &session = found->second;
    TimePoint now = port_.time_now();
    session.pause = std::min(2 * session.pause, longest_pause);
    session.next = now + session.pause;
    if (session.end > now)
        session.next = std::min(session.next, session.end);
}

} // namespace pmixhost
