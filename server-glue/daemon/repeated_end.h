// The end of a step, ordered by somebody who will not be there much longer (the supervisor): an RM that is away for a
// while is asked again. In the loop's thread.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <functional>

namespace pmixhost {

class RepeatedEnd {
  public:
    static constexpr Duration usual_pause = std::chrono::seconds(3);
    using Done = std::function<void(Result<void>)>;

    // `order` calls what it is given once, later. `done` is called once, when an order has been taken, or never will be
    // (any failure but unreachable and timeout), and may end the loop, but not this; `first_failed` once, before there
    // is another order.
    RepeatedEnd(EventLoop &loop, std::function<void(Done)> order, Done first_failed, Done done,
                Duration pause = usual_pause)
        : loop_(loop), order_(std::move(order)), first_failed_(std::move(first_failed)), done_(std::move(done)),
          pause_(pause) {}

    void start();

  private:
    EventLoop &loop_;
    std::function<void(Done)> order_;
    Done first_failed_, done_;
    const Duration pause_;
    EventLoop::Handle again_;
};

} // namespace pmixhost
