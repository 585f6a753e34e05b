// Says when libpmix is stuck: a question that goes through the thread that calls it and through its own
// progress thread has not been answered for the timeout. Pure: it is told the time, asks through its
// verdict, and has no clock.
//
// Only time counts in which this process ran: of the time between two looks, at most one interval. An
// RM that stops the step for a night is no hang.
#pragma once

#include <algorithm>
#include <chrono>

namespace pmixhost {

class LibraryWatchdog {
  public:
    using Duration = std::chrono::steady_clock::duration;
    using TimePoint = std::chrono::steady_clock::time_point;
    enum class Verdict {
        well,
        ask,  // put a question now; answered() is to be called when it comes back
        stuck // said once
    };
    // How often look() must be called within the timeout.
    static constexpr int looks = 8;

    explicit LibraryWatchdog(Duration timeout) : timeout_(timeout) {}
    Duration interval() const { return timeout_ / looks; }

    Verdict look(TimePoint now) {
        if (!asked_) {
            asked_ = true;
            waited_ = Duration::zero();
            last_ = now;
            return Verdict::ask;
        }
        waited_ += std::clamp(now - last_, Duration::zero(), interval());
        last_ = now;
        if (waited_ < timeout_ || said_)
            return Verdict::well;
        said_ = true;
        return Verdict::stuck;
    }
    void answered() { asked_ = false; }

  private:
    Duration timeout_, waited_{0};
    TimePoint last_;
    bool asked_ = false, said_ = false;
};

} // namespace pmixhost
