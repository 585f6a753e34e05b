// Stands in for the daemon's event loop where bench_launch runs more daemons than anybody has hosts
// (test/bench/simulated_hosts.h): one for each host, with the clock of the simulation. What is not here they do not
// use.
#pragma once

#include "common/base/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace pmixhost {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

class SimulatedHosts;

class EventLoop {
  public:
    enum Interest : unsigned { readable = 1, writable = 2 };
    using Callback = std::function<void()>;
    using FdCallback = std::function<void(unsigned ready)>;

    class Handle {
      public:
        Handle() = default;
        explicit Handle(std::shared_ptr<Callback> what) : what_(std::move(what)) {}
        Handle(Handle &&) noexcept = default;
        Handle &operator=(Handle &&other) noexcept {
            reset();
            what_ = std::move(other.what_);
            return *this;
        }
        ~Handle() { reset(); }
        explicit operator bool() const { return what_ != nullptr; }
        void reset() {
            if (what_)
                *std::exchange(what_, nullptr) = nullptr;
        }

      private:
        std::shared_ptr<Callback> what_; // empty once it has been called, or is not to be
    };

    EventLoop(SimulatedHosts &all, std::uint32_t host) : hosts(all), self(host) {}
    EventLoop(const EventLoop &) = delete;

    void post(Callback callback);
    // Of a connection that is being made: once, when it is there.
    [[nodiscard]] Handle watch(int fd, unsigned interest, FdCallback callback);
    [[nodiscard]] Handle after(Duration delay, Callback callback);
    TimePoint now() const;

    SimulatedHosts &hosts;
    const std::uint32_t self;
};

} // namespace pmixhost
