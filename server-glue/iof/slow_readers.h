// Which of the tools that pull on one host are passed over for now, because they take nothing while others do: what
// is delivered meanwhile is for the others, and they hear how much they have missed when they take something again.
// Without it one tool that is stopped (Ctrl-Z) stopped all tools of its host, since libpmix' queue to each has no
// bound and it is given nothing more while one of them has much before it (tool_pace.h).
//
// Where all that pull are slow nobody is passed over: then what they do not take waits at the host that wrote it
// (output_queue.h). Whoever has nothing before it counts as one that takes, also where nothing of what it pulls is
// written: when something is, it is not to wait. Pure; in the loop's thread.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/guard/library_connection.h"

#include <map>
#include <vector>

namespace pmixhost {

class SlowReaders {
  public:
    // So long nobody else gets anything for the sake of one; of one that was passed over, and has been slow again ever
    // since within `forgotten`, the second time and then.
    static constexpr Duration patience = std::chrono::seconds(1), patience_again = std::chrono::milliseconds(50),
                              forgotten = std::chrono::seconds(10);
    // Whether one takes something again is looked at after the first one, then after twice the last, up to the second.
    static constexpr Duration first_look = std::chrono::milliseconds(20), last_look = std::chrono::seconds(1);

    struct Reader {
        LibraryConnection connection;
        std::size_t unsent = 0;         // LibraryConnection::unsent()
        bool may_be_passed_over = true; // else the others wait for it
        bool is_left = false;           // it pulls no more, and the library gives it what others pull
    };
    struct Look {
        std::vector<LibraryConnection> passed_over, back; // from now on
        std::size_t most_unsent = 0;                      // of those that are not passed over
    };
    // `readers`: all that pull now, or have.
    Look look(TimePoint now, const std::vector<Reader> &readers);
    bool passes_over(const LibraryConnection &connection) const;
    // When to look again at whoever is passed over.
    TimePoint next_time() const { return next_; }

  private:
    struct State {
        TimePoint slow_since = TimePoint::max(), taken_since = TimePoint::min();
        bool passed_over = false, was_before = false;
    };
    std::map<LibraryConnection, State> states_;
    Duration pause_{};
    TimePoint next_ = TimePoint::max();
};

} // namespace pmixhost
