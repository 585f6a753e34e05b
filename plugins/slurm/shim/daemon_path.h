// Which pmixhostd the shim starts, in srun and in slurmstepd.
#pragma once

#include <string>
#include <vector>

namespace pmixhost::slurm {

// Where this plugin was loaded from; empty if that is not known.
std::string plugin_directory();

// pmixhostd is PMIXHOST_LIBEXECDIR/pmixhostd. For a build that is not installed, a file named pmixhostd.path beside the
// plugin says otherwise: its first line is the path, each further line an argument. It counts only if it belongs to
// root and nobody else may write it.
struct DaemonPath {
    std::string path;
    std::vector<std::string> arguments;
};
DaemonPath daemon_path(const std::string &plugin_directory);

} // namespace pmixhost::slurm
