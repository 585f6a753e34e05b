// The supervisor: pmixhostd's parent process under an RM that starts the tasks itself. It holds nothing of libpmix,
// waits for the server, and if that dies while tasks still run, ends the step with a line that tells the user why.
// Otherwise they would wait for a server that is not there. It also ends a server that hangs (its heartbeat in the
// status page stands still) or takes too long to leave, after it has had written down where that stood
// (evidence/evidence.h). Last it removes what the server has left of its directories.
#pragma once

#include "common/base/log.h"
#include "common/config/settings.h"
#include "common/start/start_document.h"
#include "common/start/status_page.h"
#include "server-glue/evidence/evidence.h"
#include "server-glue/tasks/task_table.h"

#include <chrono>
#include <sys/types.h>

namespace pmixhost {

// When the RM ends a step it kills the supervisor, the server and the tasks, in any order. Whichever
// of the first two is still there after this long was not meant.
inline constexpr auto dying_patience = std::chrono::milliseconds(300);

// The server's heart must beat at least so often within its hang timeout.
inline constexpr int beats_in_hang_timeout = 8;

// A server that says that it leaves has this long for it (backends wait some seconds for their RM).
inline constexpr auto leaving_patience = std::chrono::seconds(20);

// Waits for `server`, a child, and does what is needed then. Returns the exit code for this process. With
// daemon.hang_timeout 0, or without a page, it looks neither for a hang nor for a server that does not get away.
int supervise(pid_t server, const StartDocument &document, const Settings &settings, StatusPage *page,
              const TaskTable &table, const EvidencePlace &place, Log &log,
              std::chrono::milliseconds patience = leaving_patience);

} // namespace pmixhost
