// See held_directory.h.
#include "tools/view/held_directory.h"

#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

constexpr int most_looked_at = 10'000; // entries of a directory that is everybody's

bool lock(int directory, int how) {
    while (::flock(directory, how) != 0) {
        if (errno != EINTR)
            return false;
    }
    return true;
}

void remove_all(const std::string &path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

// Those that nobody holds.
void sweep(const std::string &base, const std::string &name) {
    DIR *list = ::opendir(base.c_str());
    if (!list)
        return;
    for (int i = 0; i < most_looked_at; ++i) {
        dirent *entry = ::readdir(list);
        if (!entry)
            break;
        if (!std::string_view(entry->d_name).starts_with(name + "."))
            continue;
        UniqueFd found(
            ::openat(::dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat status {};
        if (found && ::fstat(found.get(), &status) == 0 && status.st_uid == ::geteuid() &&
            (status.st_mode & 07777) == 0700 && lock(found.get(), LOCK_EX | LOCK_NB))
            remove_all(base + "/" + entry->d_name);
    }
    ::closedir(list);
}

// Locked, and still there: between its making and the lock, it is one that nobody holds. Nothing where there is no
// such directory to be made.
Result<UniqueFd> make_in(const std::string &base, const std::string &name, std::string &path) {
    for (;;) {
        path = base + "/" + name + ".XXXXXX";
        if (!::mkdtemp(path.data()))
            return system_error(base, errno);
        UniqueFd held(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!held && errno == ENOENT)
            continue;
        if (!held) {
            int why = errno;
            ::rmdir(path.c_str());
            return system_error(path, why);
        }
        lock(held.get(), LOCK_SH); // where there are no locks, nobody can sweep either
        struct stat status {};
        if (::fstat(held.get(), &status) == 0 && status.st_nlink > 0)
            return {std::move(held)};
    }
}

} // namespace

Result<HeldDirectory> HeldDirectory::make(const std::string &name) {
    const char *runtime = std::getenv("XDG_RUNTIME_DIR");
    Error why = system_error("a directory in /tmp", ENOENT);
    for (std::string base : {runtime ? runtime : "", "/tmp"}) {
        if (!base.starts_with('/'))
            continue;
        sweep(base, name);
        std::string path;
        auto held = make_in(base, name, path);
        if (held)
            return HeldDirectory(std::move(path), std::move(*held));
        why = held.failure();
    }
    return why;
}

HeldDirectory::HeldDirectory(HeldDirectory &&other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

HeldDirectory &HeldDirectory::operator=(HeldDirectory &&other) noexcept {
    std::swap(path_, other.path_);
    std::swap(lock_, other.lock_);
    return *this;
}

HeldDirectory::~HeldDirectory() {
    remove();
}

void HeldDirectory::share() {
    ::fcntl(lock_.get(), F_SETFD, 0);
}

void HeldDirectory::remove() const {
    if (!path_.empty())
        remove_all(path_);
}

} // namespace pmixhost
