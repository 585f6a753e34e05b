// When to call a step again that no pmixhost serves: it may only be starting, as far as anybody can tell. So do desks
// of the gate (server-glue/tool_access/step_choice.h), and commands that look at all jobs (tools/view/reach_plan.h).
#pragma once

#include <algorithm>
#include <chrono>

namespace pmixhost {

inline constexpr std::chrono::seconds unserved_first_wait{10}, unserved_longest_wait{300};

// After it has answered so, `times` one after the other (1 at least): twice as long each time.
inline std::chrono::seconds unserved_wait(unsigned times) {
    return std::min(unserved_longest_wait, unserved_first_wait * (1 << std::min(times - 1, 8u)));
}

} // namespace pmixhost
