// pmixhostd's own path: what serves the session, and what starts tasks, must be of the same build.
#pragma once

#include <string>

namespace pmixhost::slurm {

std::string own_program();

} // namespace pmixhost::slurm
