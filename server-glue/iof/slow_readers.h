// Which of the tools that pull on one host are passed over for now, because they take nothing while others do: what
// is delivered meanwhile is for the others, and is kept for them, as far as they have asked for it, until they take
// something again (tool_pulls.h). Without it one tool that is stopped (Ctrl-Z) stopped all tools of its host, since
// libpmix' queue to each has no bound and it is given nothing more while one of them has much before it (tool_pace.h).
//
// Where all that pull are slow nobody is passed over: then what they do not take waits at the host that wrote it
// (output_queue.h); but not where they want different things of what they do not take, since there is one rule for what
// waits there. One that is passed over when the others go, or when it may be no longer, stays so until it has taken
// what is kept for it, piece by piece, and all waits for it: else it would be given all of that each time that others
// come and go, or that it asks for something else, without a bound. Whoever has nothing before it counts as one that
// takes, also where nothing of what it pulls is written: when something is, it is not to wait. Pure; in the loop's
// thread.
#pragma once

#include "common/loop/event_loop.h"
#include "server-glue/guard/library_connection.h"

#include <map>
#include <vector>

namespace pmixhost {

class SlowReaders {
  public:
    // So long nobody else gets anything for the sake of one; of one that was passed over, and has been slow again ever
    // since within `forgotten`, the second time and then. Nor for who takes again, and would lose of what is kept.
    static constexpr Duration patience = std::chrono::seconds(1), patience_again = std::chrono::milliseconds(50),
                              forgotten = std::chrono::seconds(10);
    // Whether one takes something again is looked at after the first one, then after twice the last, up to the second;
    // and after the third where one does, and something is kept for it.
    static constexpr Duration first_look = std::chrono::milliseconds(20), last_look = std::chrono::seconds(1),
                              next_piece = std::chrono::milliseconds(1);

    struct Reader {
        LibraryConnection connection;
        std::size_t unsent = 0;         // LibraryConnection::unsent()
        bool may_be_passed_over = true; // else the others wait for it; one that is, until it has caught up
        bool is_left = false;           // it pulls no more, and the library gives it what others pull
        bool is_behind = false;         // more is kept for it than it may be given at once: so it is passed over still
        bool is_far_behind = false;     // so much that soon there is no room for more
    };
    struct Look {
        std::vector<LibraryConnection> passed_over, back; // from now on
        std::vector<LibraryConnection> takes;             // of those that are passed over: some of what is kept for it
        std::size_t most_unsent = 0;                      // of those for whom all wait
    };
    // `readers`: all that pull now, or have. `each_alone`: nobody waits for another one, nor is waited for, for longer
    // than a healthy one may need (ToolPace has each of them slow at some look).
    Look look(TimePoint now, const std::vector<Reader> &readers, bool each_alone = false);
    bool passes_over(const LibraryConnection &connection) const;
    // When to look again at whoever is passed over.
    TimePoint next_time() const { return next_; }

  private:
    struct State {
        TimePoint slow_since = TimePoint::max(), taken_since = TimePoint::min();
        bool passed_over = false, was_before = false;
        TimePoint waits_end = TimePoint::max();   // for it, while it is far behind; none: it has not begun to take
        TimePoint waits_known = TimePoint::min(); // until then the next wait is a short one
    };
    static bool is_slow(const Reader &reader);
    static bool is_waited_for(TimePoint now, State &state, const Reader &reader, bool each_alone);
    std::map<LibraryConnection, State> states_;
    Duration pause_{};
    TimePoint next_ = TimePoint::max();
};

} // namespace pmixhost
