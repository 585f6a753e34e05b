// One thread, or a few, for calls that may block for minutes, such as questions to an RM that does not answer.
// Callers have deadlines that the call does not have, only so many may wait, and the process may leave while a call
// is under way.
//
// Calls begin in order; each thread runs one after the other. A call that still waits when its time is up is answered
// (timeout) and never begun; one that runs is answered as well, while its thread goes on with it. A thread that
// nobody waits for any more may be left behind: another one takes its place, and it ends when its call does. A thread
// starts when a call needs it, and outlives this object if it has to, so a call must own all that it uses.
#pragma once

#include "common/loop/event_loop.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pmixhost {

class SlowCalls {
  public:
    using Call = std::function<std::shared_ptr<void>()>;

    struct Threads {
        std::size_t at_once = 1;
        std::size_t left_behind = 0; // and so many more that are stuck
    };
    // At most `max_waiting` callers wait; those whose call runs are not counted. `loop` must outlive this.
    SlowCalls(EventLoop &loop, std::size_t max_waiting, Threads threads);
    SlowCalls(EventLoop &loop, std::size_t max_waiting) : SlowCalls(loop, max_waiting, Threads{}) {}
    // Does not wait; no caller is answered any more.
    ~SlowCalls();
    SlowCalls(const SlowCalls &) = delete;

    // `done` is called once, in the loop's thread and never from within: with what `work` gave (a Result), or
    // timeout, or limit (too many wait, or no thread can be started), or system (`work` has thrown). When a call with
    // the same `name` has not begun yet, it answers this caller too; an empty name is never the same.
    template <typename Work, typename Done> void run(std::string name, TimePoint deadline, Work work, Done done) {
        run_typed<true>(std::move(name), deadline, std::move(work), std::move(done));
    }
    // The call is shared with no other caller, so what it gives need not be copied.
    template <typename Work, typename Done> void run_alone(TimePoint deadline, Work work, Done done) {
        run_typed<false>({}, deadline, std::move(work), std::move(done));
    }

    // For a process that leaves: blocks until all that was asked for has been called, at most for `limit` (false: it
    // takes longer). Nobody is answered, and nothing but the destructor may follow.
    bool finish(Duration limit);

  private:
    using Outcome = Result<std::shared_ptr<void>>;
    struct Thread;
    struct Caller {
        TimePoint deadline;
        std::function<void(Outcome)> done;
    };
    struct Waiting {
        std::uint64_t id;
        std::string name;
        Call call;
    };
    std::size_t waiting() const;
    void add(std::string name, TimePoint deadline, Call call, std::function<void(Outcome)> done);
    template <bool shared, typename Work, typename Done>
    void run_typed(std::string name, TimePoint deadline, Work work, Done done) {
        using Value = decltype(work());
        add(
            std::move(name), deadline,
            [work = std::move(work)]() mutable -> std::shared_ptr<void> { return std::make_shared<Value>(work()); },
            [done = std::move(done)](Outcome outcome) {
                if (!outcome)
                    return done(Value(outcome.failure()));
                auto &value = *static_cast<Value *>(outcome->get());
                if constexpr (shared)
                    done(Value(value));
                else
                    done(std::move(value));
            });
    }
    void begin_next();
    Result<void> add_thread();
    bool leave_one_behind();
    std::vector<Caller> take(std::uint64_t call);
    void on_value(std::uint64_t id, const Outcome &value);
    void on_time();
    void arm(TimePoint deadline);

    EventLoop &loop_;
    const std::size_t max_waiting_;
    std::list<Waiting> waiting_;
    std::multimap<std::uint64_t, Caller> callers_; // by their calls: of what waits and of what runs
    const Threads bounds_;
    std::uint64_t next_id_ = 1;
    EventLoop::Handle timer_; // at the first of their deadlines, or before it: who had that may have been answered
    TimePoint armed_ = TimePoint::max();
    struct Running {
        std::shared_ptr<Thread> thread;
        std::uint64_t call = 0; // 0: nothing
    };
    std::list<Running> threads_;
    std::map<std::uint64_t, std::shared_ptr<Thread>> left_behind_;            // by their calls
    std::shared_ptr<SlowCalls *> self_ = std::make_shared<SlowCalls *>(this); // for what is posted
};

} // namespace pmixhost
