// One timer for many deadlines: pure services say when they want to be called next, and their owner keeps this. In
// the loop's thread.
#pragma once

#include "common/loop/event_loop.h"

namespace pmixhost {

class DeadlineTimer {
  public:
    // `on_due` may call arm(), and should: it is how the timer goes on.
    DeadlineTimer(EventLoop &loop, EventLoop::Callback on_due) : loop_(loop), on_due_(std::move(on_due)) {}

    // Says when it is to be called; TimePoint::max(): never. Costs nothing unless that is earlier than the timer goes
    // off anyway: what is put off, as the deadline of one fence after another, sets no timer each time.
    void arm(TimePoint next) {
        due_ = next;
        if (next < goes_off_)
            set();
    }

  private:
    void set() {
        goes_off_ = due_;
        timer_ = loop_.after(due_ - loop_.now(), [this] { go_off(); });
    }
    void go_off() {
        goes_off_ = TimePoint::max();
        if (due_ > loop_.now()) {
            if (due_ != TimePoint::max())
                set();
            return;
        }
        due_ = TimePoint::max();
        on_due_();
    }

    EventLoop &loop_;
    EventLoop::Callback on_due_;
    EventLoop::Handle timer_;
    TimePoint due_ = TimePoint::max();
    TimePoint goes_off_ = TimePoint::max(); // max: no timer is set
};

} // namespace pmixhost
