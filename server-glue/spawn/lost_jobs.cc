// See lost_jobs.h.
#include "server-glue/spawn/lost_jobs.h"

#include <algorithm>

namespace pmixhost {

void LostJobs::on_reply(TimePoint now, const wire::JobEndReply &message) {
    for (auto &[nspace, one] : asked_)
        one.job.on_reply(now, message);
}

// Somebody has told.
void LostJobs::forget_who_has_ended(const std::set<Bytes> &running) {
    std::erase_if(asked_, [&](const auto &one) { return !running.contains(one.first); });
    if (asked_.empty())
        sessions_ = 0;
}

bool LostJobs::on_session_gone(TimePoint now, const std::set<Bytes> &running) {
    forget_who_has_ended(running);
    if (asked_.empty())
        return true;
    if (++sessions_ >= most_sessions) {
        asked_.clear();
        return false;
    }
    for (auto &[nspace, one] : asked_)
        one.job.on_session_gone(now);
    return true;
}

TimePoint LostJobs::next_time() const {
    TimePoint next = begin_;
    for (const auto &[nspace, one] : asked_)
        next = std::min(next, one.job.next_time());
    return next;
}

std::vector<LostJobs::Ended> LostJobs::on_time(TimePoint now, const std::set<Bytes> &running) {
    forget_who_has_ended(running);
    if (now >= begin_) {
        begin_ = TimePoint::max();
        for (const Bytes &nspace : running) {
            if (auto [at, is_new] = asked_.try_emplace(nspace, hosts_, nspace, (number_ + 1) << 32); is_new) {
                ++number_;
                at->second.job.begin(now);
            }
        }
    }
    std::vector<Ended> ended;
    for (auto &[nspace, one] : asked_) {
        one.job.on_time(now);
        if (one.over)
            ended.push_back({nspace, one.exit_code});
    }
    for (const auto &each : ended)
        asked_.erase(each.nspace);
    return ended;
}

} // namespace pmixhost
