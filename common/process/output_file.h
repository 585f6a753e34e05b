// Leads what a process writes to its standard output or error into a file, before it executes its program.
#pragma once

#include "common/base/result.h"

#include <string>

namespace pmixhost {

// The file is made anew, and the directories that it is in are made if they are not there. `fd`: 1 or 2, of the caller,
// which has no other thread. `copy`: what is written also goes on to where it went. That takes a process that is no
// child of the caller's; it ends when the last writer has, and no signal but SIGKILL ends it before. It stops its
// writers where the old destination takes nothing, as that itself would do, and when the file cannot be written any
// more it says so there once and goes on without.
// Fails as open(2) does.
Result<void> lead_to_file(int fd, const std::string &path, bool copy);

} // namespace pmixhost
