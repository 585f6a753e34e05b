// What an RM makes for a daemon before it starts it, and names in its start document (contrib/doc/start-document.md);
// the status page: common/start/start_fd.h.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>

namespace pmixhost::kit {

// `door_fd`: the task door (contrib/doc/task-door.md), under an abstract name that the kernel picks. `name` gets that
// name, with its leading NUL. pmixhostd's process, as the user, listens at the door once more (DaemonLaunch::door).
Result<UniqueFd> make_task_door(std::string &name);

} // namespace pmixhost::kit
