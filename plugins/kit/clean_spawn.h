// Starts a program beside the starter of a step (srun): its child, with its standard streams and directory, and with
// nothing else of it.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost::kit {

// A descriptor above the numbers that a program gets, so that none is in another's way; close-on-exec. Fails as
// fcntl(2).
Result<UniqueFd> moved_up(int fd);

struct CleanSpawn {
    std::string what; // for messages: "the launcher"
    std::vector<std::string> words;
    std::vector<int> descriptors; // each moved_up(); they become 3, 4, ...
    char *const *environment;
};
// No signal is blocked or ignored in it. Fails as posix_spawn(3). Any thread.
Result<pid_t> spawn_clean(const CleanSpawn &spawn);

} // namespace pmixhost::kit
