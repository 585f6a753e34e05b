// Starts the launcher (a pmixhostd in the role `launcher`) beside the starter of a step (srun): its child, with its
// standard streams, environment and directory, and with nothing else of it.
#pragma once

#include "common/start/start_document.h"
#include "plugins/kit/launch_listener.h"

#include <string>
#include <vector>

namespace pmixhost::kit {

struct LauncherStart {
    std::string role = "launcher"; // or "desk", which gets the listening socket `listener` (desk_server.h)
    int listener = -1;
    std::string daemon;                 // path of pmixhostd
    std::vector<std::string> arguments; // after --start-fd N
    // The keys of the backend and those of every backend (contrib/doc/start-document.md), but `role` and
    // `invitations_fd`.
    StartDocument document;
    // Beginnings of the names of variables that it does not get, nor what it starts.
    std::vector<std::string> withheld = {};
};

// Any thread.
Result<LauncherProcess> start_launcher(LauncherStart start);

} // namespace pmixhost::kit
