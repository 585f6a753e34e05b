// When libpmix may be given more output: its queue to who takes it has no bound, so what it has queued counts as taken
// only when no connection has much before it (libpmix writes whenever it can): no tool's, or as the caller says.
#pragma once

#include "server-glue/tool_access/step_tools.h"

#include <algorithm>

namespace pmixhost {

class ToolPace {
  public:
    explicit ToolPace(StepTools &tools) : tools_(tools) {}

    // False: not now; next_time() says when to ask again.
    bool go(TimePoint now) { return go(now, tools_.most_unsent()); }
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

    // Who has this much of what was sent still unread gets nothing more; of a tool, no tool beside it either.
    static constexpr std::size_t much_unsent = 256u << 10;

  private:
    static constexpr Duration shortest_pause = std::chrono::milliseconds(1),
                              longest_pause = std::chrono::milliseconds(50);
    StepTools &tools_;
    Duration pause_{};
    TimePoint next_ = TimePoint::max();
};

} // namespace pmixhost
