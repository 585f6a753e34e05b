// See debugged_job.h.
#include "server-glue/debug/debugged_job.h"

#include <pmix_common.h>

namespace pmixhost {

void DebuggedJob::begin(TimePoint now) {
    if (nspace_.empty() || state_ == State::over)
        return;
    next_ = TimePoint::max();
    state_ = State::asks;
    if (!hosts_.send_to_session(wire::JobEndRequest::type, share(wire::encode(wire::JobEndRequest{++id_, nspace_}))))
        wait(State::will_ask, now + ask_again_later);
}

void DebuggedJob::wait(State state, TimePoint until) {
    state_ = state;
    next_ = until;
}

void DebuggedJob::on_reply(TimePoint now, const wire::JobEndReply &message) {
    if (state_ != State::asks || message.id != id_)
        return;
    if (message.exit_code != 0 && !bad_exit_)
        bad_exit_ = message.exit_code;
    switch (message.status) {
    case PMIX_SUCCESS:
        ended_ = true;
        wait(State::seems_over, now + hearsay);
        break;
    case PMIX_ERR_NOT_FOUND:
        wait(State::seems_over, now + hearsay);
        break;
    case PMIX_ERR_LOST_CONNECTION: // who was asked has left
        wait(State::will_ask, now + ask_again);
        break;
    default:
        wait(State::will_ask, now + ask_again_later);
    }
}

std::optional<int> DebuggedJob::how() const {
    if (bad_exit_)
        return *bad_exit_ > 0 ? bad_exit_ : std::nullopt;
    return ended_ ? std::optional(0) : std::nullopt;
}

void DebuggedJob::on_end_told(TimePoint now) {
    if (state_ != State::over)
        wait(State::over, now + grace);
}

void DebuggedJob::on_session_gone(TimePoint now) {
    if (state_ == State::asks)
        wait(State::will_ask, now + ask_again);
}

void DebuggedJob::on_time(TimePoint now) {
    if (now < next_)
        return;
    next_ = TimePoint::max();
    if (state_ == State::will_ask) {
        begin(now);
    } else if (state_ == State::seems_over) {
        wait(State::over, now + grace);
        port_.has_ended(how());
    } else {
        port_.end_daemons();
    }
}

} // namespace pmixhost
