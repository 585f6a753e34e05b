// See own_program.h.
#include "plugins/slurm/backend/own_program.h"

#include <filesystem>

namespace pmixhost::slurm {

std::string own_program() {
    std::error_code failed;
    auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? PMIXHOST_LIBEXECDIR "/pmixhostd" : path.string();
}

} // namespace pmixhost::slurm
