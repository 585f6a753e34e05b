// One thread for calls that may block for minutes, such as questions to an RM that does not answer:
// callers have deadlines that the call does not have, only so many may wait, and the process may leave
// while a call is under way.
//
// Calls run one after the other. What waits is answered (timeout) when its time is up and is then never
// begun; what runs is answered as well, while the thread goes on with it. The thread starts with the
// first call, and outlives this object if it has to: a call must own all that it uses.
#pragma once

#include "common/event_loop.h"

#include <any>
#include <list>
#include <string>

namespace pmixhost {

class SlowCalls {
  public:
    using Call = std::function<std::any()>;

    // At most `max_waiting` callers wait, the call that runs not counted. `loop` must outlive this.
    SlowCalls(EventLoop &loop, std::size_t max_waiting);
    // Does not wait, and no caller is answered any more.
    ~SlowCalls();
    SlowCalls(const SlowCalls &) = delete;

    // `done` comes once, never from within: with what `call` gave, or timeout, or limit (too many wait).
    // A call with the same `name` (empty: none) that has not begun yet answers this caller too.
    template <typename Work, typename Done>
    void run(std::string name, TimePoint deadline, Work work, Done done) {
        using Value = decltype(work());
        add(std::move(name), deadline, [work = std::move(work)]() mutable { return std::any(work()); },
            [done = std::move(done)](Result<std::any> outcome) {
                if (outcome)
                    done(std::any_cast<Value>(std::move(*outcome)));
                else
                    done(Value(outcome.failure()));
            });
    }

  private:
    struct Thread;
    struct Caller {
        std::uint64_t call;
        TimePoint deadline;
        std::function<void(Result<std::any>)> done;
    };
    struct Waiting {
        std::uint64_t id;
        std::string name;
        Call call;
    };
    void add(std::string name, TimePoint deadline, Call call, std::function<void(Result<std::any>)> done);
    void begin_next();
    std::list<Caller> take(std::uint64_t call);
    void on_value(std::uint64_t id, std::any value);
    void on_time();
    void arm();

    EventLoop &loop_;
    const std::size_t max_waiting_;
    std::list<Waiting> waiting_;
    std::list<Caller> callers_; // of what waits and of what runs
    std::uint64_t running_ = 0; // 0: nothing
    std::uint64_t next_id_ = 1;
    EventLoop::Handle timer_;
    std::shared_ptr<Thread> thread_;
    std::shared_ptr<SlowCalls *> self_ = std::make_shared<SlowCalls *>(this); // for what is posted
};

} // namespace pmixhost
