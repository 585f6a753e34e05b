// A command on a job of another user that the desk of that user runs for us (common/rendezvous/gate_door.h): here is
// only what it writes. It gets two pipes, and nothing else of ours.
#pragma once

#include "tools/view/desk.h"

#include <string>
#include <vector>

namespace pmixhost {

// Writes to our standard output and error what it writes to its own, harmlessly where that is a terminal, and returns
// its exit code. `desk` runs_it(). It is ended when we end. Where await_interrupt() was called, an interrupt makes this
// return `interrupted`.
int show_run(Desk desk, int interrupted = 130);

} // namespace pmixhost
