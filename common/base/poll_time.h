// How long poll() may wait: the one place where a deadline becomes its timeout.
#pragma once

#include <algorithm>
#include <chrono>

namespace pmixhost {

// In milliseconds: rounded up, so that poll() never returns before the deadline; 0 when it has passed; a minute at
// most, after which the caller asks again. Any thread.
inline int poll_time(std::chrono::steady_clock::time_point deadline) {
    auto left = deadline - std::chrono::steady_clock::now();
    return static_cast<int>(
        std::clamp<long long>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0, 60'000));
}

} // namespace pmixhost
