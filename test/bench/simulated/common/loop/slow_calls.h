// Stands in for the threads that call what blocks (bench_launch): a call that takes its time in the simulation has
// been told to it (SimulatedHosts::call_takes()), and is answered then; any other is answered at once.
#pragma once

#include "common/loop/event_loop.h"

#include <cstddef>
#include <string>
#include <type_traits>

namespace pmixhost {

class SlowCalls {
  public:
    struct Threads {
        std::size_t at_once = 1;
        std::size_t left_behind = 0;
    };
    SlowCalls(EventLoop &loop, std::size_t, Threads = {1, 0}) : loop_(loop) {}
    SlowCalls(const SlowCalls &) = delete;

    template <typename Work, typename Done> void run(std::string, TimePoint deadline, Work work, Done done) {
        auto value = work();
        if constexpr (std::is_same_v<decltype(value), Result<void>>) {
            if (take_call(deadline, [done](Result<void> result) { done(std::move(result)); }))
                return;
        }
        loop_.post([value = std::move(value), done]() mutable { done(std::move(value)); });
    }

  private:
    // False: what was called has not said that it takes time.
    bool take_call(TimePoint deadline, std::function<void(Result<void>)> done);
    EventLoop &loop_;
};

} // namespace pmixhost
