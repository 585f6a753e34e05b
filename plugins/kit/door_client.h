// A task's side of the task door (contrib/doc/task-door.md): called just before the task's program is executed, in
// its process and as its user.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::kit {

inline constexpr std::size_t max_task_variables = 8192;
inline constexpr std::size_t max_task_environment = 1u << 20;

// Asks at the door `name` (abstract) for the environment of `rank`, and says which of the caller's descriptors 1 and 2
// the RM does not read. The door's owner must be
// `uid` or root. The text of a failure does not say why there is no daemon: the status page does.
// Where the daemon wants them, the caller's standard streams are handed over: its descriptors 0 to 2 are then pipes of
// the daemon, but for terminals and files, and the daemon has those that they were. Where the daemon wants it, the
// program that this process executes next stands at its first instruction (common/process/exec_stop.h), and the
// connection stays open until then.
// `door`: if not null, gets the connection, which the daemon then listens on.
Result<std::vector<std::string>> ask_at_door(const std::string &name, uid_t uid, Rank rank,
                                             std::chrono::milliseconds limit, UniqueFd *door = nullptr);

} // namespace pmixhost::kit
