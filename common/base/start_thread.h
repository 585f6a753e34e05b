// The one way to start a thread here: all signals blocked in it, detached (nobody waits for it without a
// deadline, so it must own all that it uses), and a failure is a value.
#pragma once

#include "common/base/result.h"

#include <functional>

namespace pmixhost {

// Any thread. An error (limit): no thread was started; the caller's signal mask is as before in any case.
// What `body` throws ends its thread and nothing else.
Result<void> start_thread(std::function<void()> body);

} // namespace pmixhost
