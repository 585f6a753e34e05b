// The topology of a host that Slurm's daemons keep in a file (common/process/topology_file.h): where it is, and whether
// the daemons of the next step will use it.
#pragma once

#include "common/check/finding.h"
#include "common/config/settings.h"
#include "plugins/slurm/check/controller_config.h"

#include <string>

namespace pmixhost::slurm {

// As the shim names it (plugins/slurm/shim/prefork.cc). `node`: the host's name in Slurm. Empty: not told.
std::string topology_path(const ControllerConfig &config, const std::string &node, const std::string &host);

// `state`: what machine_state() says. `program`: what makes the file, as root, and only where nobody else can write it
// or its directory (plugins/kit/topology_keeper.h). Reads the file, as a daemon of this process' user would.
Finding finding_of_topology_file(const std::string &path, const std::string &state, const std::string &program,
                                 const Settings &settings);

} // namespace pmixhost::slurm
