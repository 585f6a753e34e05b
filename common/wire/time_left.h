// Deadlines travel as the time that is left, because the clocks of two hosts have nothing in common.
#pragma once

#include "common/loop/event_loop.h"

#include <algorithm>
#include <cstdint>

namespace pmixhost {

// In milliseconds; 0 when it has passed, UINT32_MAX when there is no deadline (TimePoint::max()).
inline std::uint32_t milliseconds_left(TimePoint now, TimePoint deadline) {
    if (deadline == TimePoint::max())
        return UINT32_MAX;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now).count();
    return static_cast<std::uint32_t>(std::clamp<long long>(left, 0, UINT32_MAX - 1));
}

} // namespace pmixhost
