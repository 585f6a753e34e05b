// Leads what a process writes to its standard output or error into a file, before it executes its program; and on to
// where it went as well, which takes another process.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>

namespace pmixhost {

// What a process that copies needs.
struct OutputCopy {
    UniqueFd writers;         // the end of a pipe that what is written comes from
    UniqueFd old_destination; // where it went
    UniqueFd file;
};

// The file is made anew, and the directories that it is in are made if they are not there; it is written at its end, so
// that who opens it once more loses nothing of the others. `fd`: 1 or 2, of the caller. Fail as open(2) does.
//
// All goes to the file.
Result<void> lead_to_file(int fd, const std::string &path);
// All goes into a pipe, which somebody has to copy from then on.
Result<OutputCopy> lead_to_copy(int fd, const std::string &path);

// What copy_output() finds open.
enum OutputCopyFd : int { copy_writers = 0, copy_old_destination = 1, copy_file = 2 };
// Copies until the last writer has ended; for a process that does nothing else. What does not go to the file any more
// is told once to the old destination; what that does not take stops the writers, as it itself would.
void copy_output();

} // namespace pmixhost
