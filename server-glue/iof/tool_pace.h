// When libpmix may be given more output: its queue to who takes it has no bound, so what it has queued counts as taken
// only when no connection that the output is for has much before it (libpmix writes whenever it can).
#pragma once

#include "common/loop/event_loop.h"

#include <algorithm>
#include <cstddef>

namespace pmixhost {

class ToolPace {
  public:
    // `unsent`: the most that one of them has not taken, in bytes. False: not now; next_time() says when to ask again.
    bool go(TimePoint now, std::size_t unsent) {
        if (unsent <= much_unsent) {
            pause_ = {};
            next_ = TimePoint::max();
            return true;
        }
        pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
        next_ = now + pause_;
        return false;
    }
    TimePoint next_time() const { return next_; }

    // Who has more than this of what was sent still unread gets nothing more for now.
    static constexpr std::size_t much_unsent = 256u << 10;

  private:
    static constexpr Duration shortest_pause = std::chrono::milliseconds(1),
                              longest_pause = std::chrono::milliseconds(50);
    Duration pause_{};
    TimePoint next_ = TimePoint::max();
};

} // namespace pmixhost
