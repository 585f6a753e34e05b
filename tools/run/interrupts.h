// What Ctrl-C means, as srun has it with a user at a terminal: the first one asks how the job is, another one within a
// second ends it, and a third one at once. Pure.
#pragma once

#include "common/loop/event_loop.h"

#include <optional>

namespace pmixhost {

class Interrupts {
  public:
    static constexpr Duration window = std::chrono::seconds(1);
    enum class Means { tell, end, kill };

    // One has come. `ending`: the job is being ended already, for whatever reason.
    Means next(TimePoint now, bool ending) {
        const bool again = last_ && now - *last_ < window;
        last_ = now;
        count_ = again ? count_ + 1 : 1;
        if (count_ >= 3 || (ending && again))
            return Means::kill;
        return count_ == 2 ? Means::end : Means::tell;
    }

  private:
    std::optional<TimePoint> last_;
    int count_ = 0; // of those that came so soon after one another
};

} // namespace pmixhost
