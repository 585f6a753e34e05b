// Directories and the room in them, as `pmixhost doctor` sees them. See host_checks.h.
#include "common/base/unique_fd.h"
#include "common/text/printable.h"
#include "tools/doctor/host_checks.h"
#include "tools/view/server_list.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::uint64_t little_room = 64u << 20, no_room = 4u << 20;
constexpr std::uint64_t few_files = 1000, no_files = 50;

// Does what a daemon does there. Empty: it could; else why not.
std::string try_to_write(const std::string &directory) {
    std::string path = directory + "/pmixhost-doctor.XXXXXX";
    UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file)
        return std::strerror(errno);
    ::unlink(path.c_str());
    std::string block(64u << 10, 'x');
    for (int i = 0; i < 8; ++i) {
        ssize_t written = ::write(file.get(), block.data(), block.size());
        if (written != static_cast<ssize_t>(block.size()))
            return written < 0 ? std::strerror(errno) : std::strerror(ENOSPC);
    }
    return {};
}

Room room_in(const std::string &path) {
    struct statvfs system {};
    if (::statvfs(path.c_str(), &system) != 0)
        return {};
    return {std::uint64_t{system.f_bavail} * system.f_frsize, system.f_favail, system.f_files > 0};
}

Findings findings_of_directory(const std::string &check, const std::string &path, const std::string &option,
                               bool everybody) {
    struct stat status {};
    std::string elsewhere = option.empty() ? "" : fmt::format(", or name another in {} of pmixhost.conf", option);
    if (::stat(path.c_str(), &status) != 0)
        return {wrong(check, fmt::format("{}: {}", path, std::strerror(errno)),
                      fmt::format("mkdir -m 1777 {} on this host{}", path, elsewhere))};
    if (!S_ISDIR(status.st_mode))
        return {wrong(check, path + " is no directory", "make it one" + elsewhere)};
    if (everybody && (status.st_mode & S_IWOTH) == 0)
        return {wrong(check, fmt::format("only some users may write in {} (mode {:o})", path, status.st_mode & 07777),
                      fmt::format("chmod 1777 {}{}", path, elsewhere))};
    if (auto why = try_to_write(path); !why.empty())
        return {wrong(check, fmt::format("cannot write in {}: {}", path, why),
                      fmt::format("make room in it, and let users write (chmod 1777 {}){}", path, elsewhere))};
    Findings all;
    if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
        all.push_back(doubtful(check,
                               fmt::format("{} has no sticky bit: users may remove what others have there", path),
                               fmt::format("chmod 1777 {}", path)));
    auto room = finding_of_room(check, path, room_in(path));
    if (all.empty() || room.level != Finding::Level::ok)
        all.push_back(std::move(room));
    return all;
}

} // namespace

Finding finding_of_room(const std::string &check, const std::string &path, const Room &room) {
    std::uint64_t mebibytes = room.bytes >> 20;
    std::string text = fmt::format("{}: {} MiB free", path, mebibytes);
    if (room.bytes < little_room)
        return room.bytes < no_room ? wrong(check, text, "remove what nobody needs there: du -xsh " + path + "/*")
                                    : doubtful(check, text, "remove what nobody needs there: du -xsh " + path + "/*");
    if (room.counts_files && room.files < few_files) {
        text += fmt::format(", but room for {} files only", room.files);
        return room.files < no_files ? wrong(check, text, "remove files there: df -i " + path)
                                     : doubtful(check, text, "remove files there: df -i " + path);
    }
    return fine(check, text);
}

Findings directory_findings(const Patient &patient) {
    const Settings &settings = patient.config.loaded.settings;
    const std::string &base = settings.directory_base;
    Findings all = findings_of_directory("directory", base, "directory.base", patient.everybody());
    auto shared = findings_of_directory("shared memory", "/dev/shm", "", patient.everybody());
    all.insert(all.end(), shared.begin(), shared.end());
    auto log = std::filesystem::path(settings.log_file).parent_path().string();
    if (!log.empty() && log.find('%') == log.npos && ::access(log.c_str(), patient.everybody() ? F_OK : W_OK) != 0)
        all.push_back(doubtful("log", fmt::format("the directory of log.file, {}: {}", log, std::strerror(errno)),
                               fmt::format("mkdir -m 1777 {}, or another log.file in pmixhost.conf", log)));
    // Tools look below one directory, and servers write below another.
    std::string looked = rendezvous_root();
    std::error_code failed;
    auto relative = std::filesystem::path(base).lexically_normal().lexically_relative(
        std::filesystem::path(looked).lexically_normal());
    if (relative.empty() || *relative.begin() == "..")
        all.push_back(doubtful(
            "tools", fmt::format("tools look for servers below {}, but servers are below {}", printable(looked), base),
            fmt::format("export PMIX_SYSTEM_TMPDIR={}", base)));
    return all;
}

} // namespace pmixhost
