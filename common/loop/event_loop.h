// The event loop: the one thread that owns all state of a daemon. The only user of libevent.
//
// Everything here but post(), run_or_post() and stop() belongs to the loop's thread. A callback never throws
// beyond the loop: what escapes is logged by the handler given to create() and the loop goes on.
//
// While the loop waits another thread may take its turn for one callback (run_or_post()), which saves a change of
// threads. Callbacks still run one at a time, and each sees what those before it have done; so "the loop's thread"
// means, here and everywhere, the one whose turn it is.
#pragma once

#include "common/base/result.h"

#include <chrono>
#include <functional>
#include <memory>

namespace pmixhost {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

class EventLoop {
  public:
    enum Interest : unsigned { readable = 1, writable = 2 };
    using Callback = std::function<void()>;
    using FdCallback = std::function<void(unsigned ready)>;

    // A watch, a timer or a signal handler lives as long as this handle; dropping it is the way
    // to cancel, allowed from within its own callback.
    class Handle {
      public:
        Handle() = default;
        Handle(Handle &&) noexcept;
        Handle &operator=(Handle &&) noexcept;
        ~Handle();
        explicit operator bool() const { return impl_ != nullptr; }
        void reset();

      private:
        friend class EventLoop;
        struct Impl;
        std::shared_ptr<Impl> impl_;
    };

    // `on_exception` gets the text of what a callback has thrown, and of a watch that is ended too late. Any thread.
    // Fails (system) where libevent or the kernel gives no loop.
    static Result<std::unique_ptr<EventLoop>> create(std::function<void(const std::string &what)> on_exception);
    ~EventLoop();
    EventLoop(const EventLoop &) = delete;
    EventLoop &operator=(const EventLoop &) = delete;

    // Any thread: run `callback` soon, in the loop's thread, in the order posted. What is posted while
    // the loop does not run waits for the next run(); if there is none it is destroyed unrun.
    void post(Callback callback);
    // Any thread: runs `callback` at once, in the calling thread as if it were the loop's, where the loop waits and
    // nothing is posted; else as post(). So it keeps the order of what is posted. Not for what depends on the thread in
    // which it runs, as a child that dies with the thread that made it (PR_SET_PDEATHSIG), or a mask of signals.
    void run_or_post(Callback callback);

    // Calls back each time `fd` is ready, until the handle is dropped. The fd stays the caller's, who drops the
    // handle before closing it or giving it away: epoll watches the open file, which a copy of it keeps (epoll(7)).
    [[nodiscard]] Handle watch(int fd, unsigned interest, FdCallback callback);
    // Calls back once, not before `delay` is over.
    [[nodiscard]] Handle after(Duration delay, Callback callback);
    [[nodiscard]] Handle on_signal(int signal, Callback callback);
    // Calls back each time before the loop waits, when all that was due has been done: nobody need announce what has
    // changed meanwhile.
    [[nodiscard]] Handle before_waiting(Callback callback);

    TimePoint now() const { return Clock::now(); }
    // Runs until stop(). Fails when it can no longer wait for events; whoever depends on the loop must not take that
    // for an orderly end. Must be called in the thread that is then the loop's. May be called again after an orderly
    // end.
    Result<void> run();
    // Any thread. Ends the run() that is under way, after what was posted before; when there is none, it ends the
    // next run() so. Further calls before that end change nothing.
    void stop();

  private:
    struct State;
    explicit EventLoop(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace pmixhost
