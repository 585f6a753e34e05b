// Turns a fork of the RM's process for the step (slurmstepd: root, many threads, blocked signals, protected from the
// OOM killer, full of descriptors) into a clean process of the job's user that executes pmixhostd.
//
// It is forked twice, because the RM's process waits for any child it has and would take this one for a task. No
// handler of pthread_atfork runs, because the RM's other threads may hold what such a handler waits for. What runs
// between fork and exec uses only calls that are safe in a signal handler, and the kernel's own calls to become the
// user (libc's would ask the other threads, which are not there). All that it needs is prepared before.
#pragma once

#include "common/base/result.h"
#include "common/start/status_page.h"
#include "plugins/kit/user.h"

#include <functional>
#include <string>
#include <vector>

namespace pmixhost::kit {

struct DaemonLaunch {
    User user;
    std::string path;                     // of pmixhostd
    std::vector<std::string> arguments;   // after argv[0]
    std::vector<std::string> environment; // NAME=VALUE
    std::vector<int> descriptors;         // stay open, under their numbers; all others are closed
    int door = -1;                        // one of them: listens once more, as the user
    std::string host;                     // begins the text of a failure
    StatusPage *page = nullptr;           // where a failure after the fork is written
    int mount_namespace = -1;             // joined before the exec; -1: the RM's own
    unsigned lifetime = 0;                // seconds until SIGALRM ends the process; 0: for ever
    // Puts the process into the step's container; the process does nothing before that has succeeded.
    std::function<bool(pid_t)> contain;
};

// Returns the pid when the process is on its way, not when it serves. After the fork, failures go to `page`.
Result<pid_t> launch_daemon(const DaemonLaunch &launch);

} // namespace pmixhost::kit
