// See daemon_path.h.
#include "plugins/slurm/shim/daemon_path.h"

#include "common/base/unique_fd.h"
#include "common/text/take_until.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::slurm {

// The file's lines, if root alone can have written them.
static std::vector<std::string> trusted_lines(const std::string &path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != 0 ||
        (status.st_mode & (S_IWGRP | S_IWOTH)))
        return {};
    char buffer[8192];
    ssize_t length = ::read(fd.get(), buffer, sizeof buffer);
    std::string_view text(buffer, length > 0 ? static_cast<std::size_t>(length) : 0);
    std::vector<std::string> lines;
    while (!text.empty())
        lines.emplace_back(take_until(text, '\n'));
    return lines;
}

std::string plugin_directory() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void *>(&plugin_directory), &info) || !info.dli_fname)
        return {};
    std::string path = info.dli_fname;
    std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

DaemonPath daemon_path(const std::string &plugin_directory) {
    auto lines = trusted_lines(plugin_directory + "/pmixhostd.path");
    if (lines.empty() || lines.front().empty() || lines.front().front() != '/')
        return {PMIXHOST_LIBEXECDIR "/pmixhostd", {}};
    return {lines.front(), {lines.begin() + 1, lines.end()}};
}

} // namespace pmixhost::slurm
