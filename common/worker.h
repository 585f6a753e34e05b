// One thread for calls that block (munge, the RM's library): jobs run in order there, their
// completions in the event-loop thread. The destructor drops what has not begun and waits for the
// job that runs.
#pragma once

#include "common/event_loop.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace pmixhost {

class Worker {
  public:
    // Starts the thread with all signals blocked. `loop` must outlive the worker.
    explicit Worker(EventLoop &loop);
    ~Worker();
    Worker(const Worker &) = delete;

    // `work` runs in the worker's thread and returns what is then posted to the loop.
    void run(std::function<EventLoop::Callback()> work);

    // The usual case: `work` gives a value that `done` gets in the loop's thread.
    template <typename Work, typename Done> void run(Work work, Done done) {
        run(std::function<EventLoop::Callback()>(
            [work = std::move(work), done = std::move(done)]() mutable -> EventLoop::Callback {
                auto value = std::make_shared<decltype(work())>(work());
                return [done = std::move(done), value] { done(std::move(*value)); };
            }));
    }

  private:
    void loop_of_thread();
    EventLoop &loop_;
    std::mutex mutex_; // guards jobs_ and ending_
    std::condition_variable wake_;
    std::deque<std::function<EventLoop::Callback()>> jobs_;
    bool ending_ = false;
    std::thread thread_;
};

} // namespace pmixhost
