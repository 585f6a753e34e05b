// Starts a daemon, with all that it needs from its starter, in one call: for an RM's side without special wishes. One
// that has some (a container, a lifeline) puts the same parts together itself (plugins/slurm/shim/prefork.cc).
#pragma once

#include "common/start/start_document.h"
#include "plugins/kit/daemon_launch.h"

namespace pmixhost::kit {

struct StartedDaemon {
    pid_t pid = -1;
    std::string door;           // name of the task door, for ask_at_door
    StatusPage *page = nullptr; // the caller's, to munmap(2) when the daemon has ended
};

// Makes the task door and the status page, adds them and `host` to `document`, and launches `launch` with it. The
// caller has set the path, user and descriptors of `launch`.
Result<StartedDaemon> start_daemon(StartDocument document, const std::string &host, DaemonLaunch launch);

} // namespace pmixhost::kit
