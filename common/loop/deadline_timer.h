// One timer for many deadlines: pure services say when they want to be called next, and their owner keeps this. In
// the loop's thread.
#pragma once

#include "common/loop/event_loop.h"

namespace pmixhost {

class DeadlineTimer {
  public:
    // `on_due` may call arm(), and should: it is how the timer goes on.
    DeadlineTimer(EventLoop &loop, EventLoop::Callback on_due) : loop_(loop), on_due_(std::move(on_due)) {}

    // Costs nothing when the time has not changed. TimePoint::max(): never.
    void arm(TimePoint next) {
        if (next == at_)
            return;
        at_ = next;
        if (next == TimePoint::max())
            return timer_.reset();
        timer_ = loop_.after(next - loop_.now(), [this] {
            at_ = TimePoint::max();
            on_due_();
        });
    }

  private:
    EventLoop &loop_;
    EventLoop::Callback on_due_;
    EventLoop::Handle timer_;
    TimePoint at_ = TimePoint::max();
};

} // namespace pmixhost
