// See launcher_file.h.
#include "plugins/kit/launcher_file.h"

#include "common/base/unique_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pmixhost::kit {

// Where nobody but the user and root can take a name away or give it to another file.
static Result<UniqueFd> open_safe_directory(const std::string &path) {
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0)
        return system_error(path, errno);
    bool own = status.st_uid == ::geteuid() || status.st_uid == 0;
    bool open_to_others = (status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0;
    if (!own || open_to_others)
        return error(ErrorKind::denied, "in {} others could replace it; next: name a file in a directory of your own",
                     path);
    return directory;
}

Result<LauncherFile> LauncherFile::write(const std::string &path, const std::string &text) {
    auto slash = path.rfind('/');
    if (!path.starts_with('/') || slash + 1 == path.size())
        return error(ErrorKind::invalid, "'{}' is no absolute path of a file", path);
    auto directory = open_safe_directory(slash == 0 ? "/" : path.substr(0, slash));
    if (!directory)
        return directory.failure();
    std::string name = path.substr(slash + 1), begun = fmt::format(".pmixhost-{}.new", ::getpid());
    UniqueFd fd(::openat(directory->get(), begun.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return system_error(fmt::format("a file beside {}", path), errno);
    ssize_t written = ::write(fd.get(), text.data(), text.size());
    int code = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
    // A link fails where there is something of that name, also where it is a link that leads nowhere.
    if (code == 0 && ::linkat(directory->get(), begun.c_str(), directory->get(), name.c_str(), 0) != 0)
        code = errno;
    ::unlinkat(directory->get(), begun.c_str(), 0);
    if (code == EEXIST)
        return error(
            ErrorKind::exists,
            "{} is there already, so it names a server to connect to, which is not supported; next: remove it, "
            "or name another file",
            path);
    if (code != 0)
        return system_error(path, code);
    LauncherFile file;
    file.path_ = path;
    file.device_ = status.st_dev;
    file.inode_ = status.st_ino;
    return file;
}

LauncherFile::LauncherFile(LauncherFile &&other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

LauncherFile &LauncherFile::operator=(LauncherFile &&other) noexcept {
    if (this != &other) {
        remove();
        path_ = std::exchange(other.path_, {});
        device_ = other.device_;
        inode_ = other.inode_;
    }
    return *this;
}

void LauncherFile::remove() {
    struct stat status {};
    std::string path = std::exchange(path_, {});
    if (!path.empty() && ::lstat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
        ::unlink(path.c_str());
}

} // namespace pmixhost::kit
