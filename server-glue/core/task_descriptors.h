// The standard streams of a task that it has handed over to the daemon.
#pragma once

#include "common/base/unique_fd.h"

namespace pmixhost {

// The RM's end and the daemon's end of each stream; both empty where the task has kept it.
struct TaskDescriptors {
    struct Ends {
        UniqueFd rms, ours;
    };
    Ends in, out, err;
};

} // namespace pmixhost
