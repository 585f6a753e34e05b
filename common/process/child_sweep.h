// What sweep_children() (sweep.h) does, for who has an event loop, which goes round meanwhile. All in the loop's
// thread.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <map>
#include <vector>

#include <sys/types.h>

namespace pmixhost {

class ChildSweep {
  public:
    using Spares = std::function<bool(pid_t)>;
    using Done = std::function<void(std::vector<pid_t> left)>;
    explicit ChildSweep(EventLoop &loop) : loop_(loop) {}
    ChildSweep(const ChildSweep &) = delete;

    // Kills (SIGKILL) and waits for all children of this process, and theirs, until there is none but those that
    // `spares` (empty: none) is true of, or `limit` is over. Calls `done` then, from the loop, once, with those that
    // have not ended though they were killed a moment ago at the latest. One that does not end, or is traced so that
    // another process has to wait for it first, holds up none of the others. Begins anew, without that call, where one
    // is under way.
    void start(Duration limit, Done done, Spares spares = nullptr);
    bool is_under_way() const { return static_cast<bool>(done_); }
    // Nothing is killed or called any more.
    void stop();

  private:
    struct Ending {
        UniqueFd process;
        EventLoop::Handle watch; // empty: looked at from time to time
    };
    std::vector<pid_t> swept_children() const;
    std::vector<pid_t> left() const;
    void look_within(Duration delay);
    bool look(); // false: it was the last one, and `done` was called
    void ended(pid_t pid);
    void finish(std::vector<pid_t> left);

    EventLoop &loop_;
    Spares spares_;
    Done done_;
    std::map<pid_t, Ending> ending_; // killed, and not yet waited for
    EventLoop::Handle next_look_, limit_;
    TimePoint next_look_time_; // if there is one
};

} // namespace pmixhost
