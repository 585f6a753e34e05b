// See program_beside.h.
#include "common/process/program_beside.h"

#include <filesystem>

namespace pmixhost {

std::string program_beside(const std::string &name) {
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? PMIXHOST_LIBEXECDIR "/" + name : (self.parent_path() / name).string();
}

} // namespace pmixhost
