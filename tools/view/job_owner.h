// Whose a job is, as the resource manager says.
#pragma once

#include "common/base/result.h"
#include "tools/view/stop_asking.h"

#include <chrono>
#include <string>
#include <sys/types.h>

namespace pmixhost {

// `job`: JOB or JOB.STEP. Asked of pmixhostd, since the resource manager's libraries are its; blocks. Fails (not_found)
// with what that one says: there is no such job, or no resource manager that tells.
// Also fails (timeout) when `stop` says so.
Result<uid_t> owner_of(const std::string &job, std::chrono::seconds patience, const StopAsking &stop = {});

} // namespace pmixhost
