// A task's side of handing over its standard streams (contrib/doc/task-door.md, "Standard streams").
#pragma once

#include "common/base/result.h"

#include <functional>

namespace pmixhost::kit {

// `socket`: the connection to the door, whose daemon has said that it wants them. `await_answer` waits for one byte on
// it and gives it. Of the caller's descriptors 0 to 2 those that are pipes or sockets become the daemon's, unless it
// answers that it cannot take them. After a failure the program must not be started: nobody knows whose they are.
Result<void> hand_over_streams(int socket, const std::function<Result<char>()> &await_answer);

} // namespace pmixhost::kit
