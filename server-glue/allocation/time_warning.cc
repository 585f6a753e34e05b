// See time_warning.h.
#include "server-glue/allocation/time_warning.h"

namespace pmixhost {

void TimeWarning::start() {
    if (before_ > Duration::zero())
        next_ = port_.time_now() + first_question;
}

void TimeWarning::on_time(TimePoint now) {
    if (now < next_)
        return;
    next_ = TimePoint::max();
    port_.ask_time_left([this](Result<std::uint32_t> seconds) { on_answer(seconds); });
}

void TimeWarning::on_answer(const Result<std::uint32_t> &seconds) {
    TimePoint now = port_.time_now();
    if (!seconds) {
        if (seconds.failure().kind != ErrorKind::unsupported)
            next_ = now + after_an_error;
        return;
    }
    if (*seconds == UINT32_MAX)
        return;
    auto left = std::chrono::seconds(*seconds);
    if (left > before_) {
        next_ = now + (left - before_);
        return;
    }
    port_.warn_of_time(*seconds);
    next_ = now + left + first_question; // who still runs then has got more time
}

} // namespace pmixhost
