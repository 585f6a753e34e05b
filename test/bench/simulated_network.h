// A network of many hosts for programs that ask what messages cost: each host has one link, which takes one message
// after the other in either direction, and works on one message after the other. The clock is this class's own.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace pmixhost {

class SimulatedNetwork {
  public:
    static constexpr Duration latency = std::chrono::microseconds(2); // of a link
    static constexpr Duration work = std::chrono::microseconds(5);    // of a daemon for a message, either way: assumed
    static constexpr double bytes_per_ns = 25.0 / 8;                  // 25 Gb/s
    static constexpr std::size_t frame_bytes = 24;                    // header and tag

    struct Host {
        TimePoint sends_until{}, takes_until{}, works_until{};
        Duration work_of_one = work;
        std::uint32_t depth = 0; // of the longest chain of messages that led here
        std::size_t messages = 0, bytes_out = 0, bytes_in = 0;
    };
    using Take = std::function<void(HostIndex to, HostIndex from, std::uint8_t type, const SharedBytes &payload)>;

    SimulatedNetwork(HostIndex size, Take take) : hosts(size), take_(std::move(take)) {}

    void send(HostIndex sender, HostIndex receiver, std::uint8_t type, SharedBytes payload) {
        std::size_t bytes = payload->size() + frame_bytes;
        send_bytes(sender, receiver, bytes,
                   [this, sender, receiver, type, payload] { take_(receiver, sender, type, payload); });
    }

    // The same for what is no frame; `arrives` is called when the receiver has worked on it.
    void send_bytes(HostIndex sender, HostIndex receiver, std::size_t bytes, std::function<void()> arrives) {
        Host &from = hosts[sender], &to = hosts[receiver];
        from.works_until = std::max(now_, from.works_until) + from.work_of_one;
        from.sends_until = std::max(from.works_until, from.sends_until) + transfer(bytes);
        ++from.messages;
        from.bytes_out += bytes;
        to.bytes_in += bytes;
        auto deepens = [&to, depth = from.depth + 1, arrives = std::move(arrives)] {
            to.depth = std::max(to.depth, depth);
            arrives();
        };
        auto is_here = [this, &to, deepens] {
            to.works_until = std::max(now_, to.works_until) + to.work_of_one;
            events_.push({to.works_until, order_++, deepens});
        };
        // Its first byte comes while the last one is sent, unless the link is taken by another one.
        auto comes = [this, &to, bytes, is_here] {
            to.takes_until = std::max(now_, to.takes_until + transfer(bytes));
            events_.push({to.takes_until, order_++, is_here});
        };
        events_.push({from.sends_until + latency, order_++, comes});
    }

    void at(TimePoint when, std::function<void()> what) {
        events_.push({std::max(now_, when), order_++, std::move(what)});
    }

    // Until nothing is under way and no timer is armed. `next_timer` is the earliest of all, and a new one is not due
    // before `patience`.
    void run(
        const std::function<TimePoint()> &next_timer = [] { return TimePoint::max(); },
        const std::function<void(TimePoint)> &on_time = [](TimePoint) {}, Duration patience = std::chrono::hours(1)) {
        TimePoint look_at = TimePoint{} + patience;
        for (;;) {
            if (!events_.empty() && events_.top().when < look_at) {
                auto next = events_.top();
                events_.pop();
                now_ = std::max(now_, next.when);
                next.what();
                continue;
            }
            TimePoint timer = next_timer();
            if (events_.empty() && timer == TimePoint::max())
                return;
            now_ = std::max(now_, events_.empty() ? timer : look_at);
            on_time(now_);
            look_at = std::min(next_timer(), now_ + patience);
        }
    }
    TimePoint now() const { return now_; }

    std::vector<Host> hosts;

  private:
    static Duration transfer(std::size_t bytes) {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_per_ns));
    }
    struct Event {
        TimePoint when;
        std::uint64_t order;
        std::function<void()> what;
        bool operator<(const Event &other) const { return std::tie(when, order) > std::tie(other.when, other.order); }
    };
    Take take_;
    std::priority_queue<Event> events_;
    std::uint64_t order_ = 0;
    TimePoint now_{};
};

} // namespace pmixhost
