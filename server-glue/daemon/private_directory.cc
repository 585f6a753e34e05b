// See private_directory.h.
#include "server-glue/daemon/private_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

// Room for the names libpmix makes below it, within a socket address of 108 bytes.
static constexpr std::size_t max_path = 80;

static Result<void> fits(const std::string &path) {
    if (path.empty() || path.front() != '/' || path.size() > max_path)
        return error(ErrorKind::limit,
                     "the directory '{}' is not usable: it must be absolute and at most {} bytes long; "
                     "see directory.base in pmixhost.conf",
                     path, max_path);
    return {};
}

Result<PrivateDirectory> PrivateDirectory::create(const std::string &path) {
    if (auto ok = fits(path); !ok)
        return ok.failure();
    if (::mkdir(path.c_str(), 0700) != 0)
        return system_error(fmt::format("cannot make the directory {}", path), errno);
    return PrivateDirectory(path);
}

Result<PrivateDirectory> PrivateDirectory::create_in(const std::string &base) {
    std::string path = fmt::format("{}/pmixhost-{}.XXXXXX", base, ::getuid());
    if (auto ok = fits(path); !ok)
        return ok.failure();
    if (!::mkdtemp(path.data()))
        return system_error(fmt::format("cannot make a directory in {}", base), errno);
    return PrivateDirectory(path);
}

PrivateDirectory::~PrivateDirectory() {
    remove();
}

bool PrivateDirectory::remove() {
    const std::string path = std::exchange(path_, {});
    std::error_code failed;
    // Whoever started the daemon may be removing it as well, and take an entry that is about to be looked at.
    for (int tries = 0; tries < 3 && !path.empty(); ++tries) {
        std::filesystem::remove_all(path, failed);
        if (failed != std::errc::no_such_file_or_directory && failed != std::errc::directory_not_empty)
            break;
    }
    return !failed;
}

} // namespace pmixhost
