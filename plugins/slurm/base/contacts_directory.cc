// See contacts_directory.h.
#include "plugins/slurm/base/contacts_directory.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::slurm {

Result<void> make_contacts_directory(const std::string &path) {
    constexpr mode_t mode = 01777;
    struct stat status {};
    // Steps may start at the same time, so it gets its name only when it is right. A directory that is already in its
    // place is replaced if it is empty, else it stays.
    if (::lstat(path.c_str(), &status) != 0) {
        std::string made = path + ".XXXXXX";
        if (!::mkdtemp(made.data()))
            return system_error(fmt::format("cannot make the directory {}", path), errno);
        if (::chmod(made.c_str(), mode) != 0 || ::rename(made.c_str(), path.c_str()) != 0)
            ::rmdir(made.c_str());
    }
    bool right = ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
                 (status.st_mode & 07777) == mode;
    if (right)
        return {};
    return error(ErrorKind::denied,
                 "{} must be a directory of root's with mode 1777: in it daemons are reached where each job has a /tmp "
                 "of its own (JobContainerType); remove what is there, or make it so",
                 path);
}

} // namespace pmixhost::slurm
