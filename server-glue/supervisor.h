// The supervisor: pmixhostd's parent process under an RM that starts the tasks itself. It holds
// nothing of libpmix, waits for the server, and if that dies while tasks still run, ends the step
// with a line that tells the user why. Otherwise they would wait for a server that is not there.
#pragma once

#include "common/log.h"
#include "common/start_document.h"
#include "common/status_page.h"
#include "server-glue/task_table.h"

#include <chrono>
#include <sys/types.h>

namespace pmixhost {

// When the RM ends a step it kills the supervisor, the server and the tasks, in any order. Whichever
// of the first two is still there after this long was not meant.
inline constexpr auto dying_patience = std::chrono::milliseconds(300);

// Waits for `server`, a child, and does what is needed then. The exit code for this process.
int supervise(pid_t server, const StartDocument &document, StatusPage *page, const TaskTable &table,
              Log &log);

} // namespace pmixhost
