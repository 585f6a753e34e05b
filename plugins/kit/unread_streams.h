// Which standard streams of a task its RM does not read, as the task door is told (contrib/doc/task-door.md).
#pragma once

#include <cstdint>

namespace pmixhost::kit {

// Of the caller's descriptors, as bits: 2 for its standard output, 4 for its standard error. One that is closed or
// /dev/null is not among them: nothing is written there that a tool could miss, and other tasks of the step may have a
// terminal in its place (srun --pty). Asks no file server: a task that writes nothing is not held up by a file of its
// output that hangs.
std::uint32_t unread_streams();

} // namespace pmixhost::kit
