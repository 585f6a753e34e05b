// Has the topology of this host kept for the daemons of later steps (common/process/topology_file.h). The RM's
// process for a step has the rights for it, and starts a program (topology_program.cc) for which nobody waits. Most
// steps find a file that is right, and start nothing.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <string>
#include <sys/types.h>

namespace pmixhost::kit {

// `program`, and the directory in which it is, must be root's and nobody else's to write: it is executed as root. Does
// nothing where this process is not root's, since its file would be used by no other user. `contain` as that of
// DaemonLaunch. Blocks while the state of the host is read. Fails (denied), and as launch_daemon() does.
Result<void> keep_topology(const std::string &file, const std::string &program, std::function<bool(pid_t)> contain);

} // namespace pmixhost::kit
