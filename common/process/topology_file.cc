// See topology_file.h.
#include "common/process/topology_file.h"

#include "common/base/small_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace pmixhost {

namespace {

constexpr std::string_view form = "pmixhost topology 1\n", end_mark = "\nend\n";
constexpr std::size_t max_state = 1u << 20, max_file = 16u << 20;

std::vector<std::string> names_in(const std::string &directory) {
    std::vector<std::string> names;
    std::unique_ptr<DIR, int (*)(DIR *)> list(::opendir(directory.c_str()), ::closedir);
    while (dirent *entry = list ? ::readdir(list.get()) : nullptr) {
        if (entry->d_name[0] != '.')
            names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

// Empty if it is no link.
std::string target_of(const std::string &link) {
    char target[1024];
    ssize_t length = ::readlink(link.c_str(), target, sizeof target);
    return std::string(target, length > 0 ? static_cast<std::size_t>(length) : 0);
}

std::string head_of(const std::string &state) {
    return fmt::format("{}{}\n", form, state);
}

Result<UniqueFd> open_trusted(const std::string &path) {
    struct stat status {};
    auto fd = open_regular_file(path, status);
    if (!fd)
        return error(ErrorKind::not_found, "{}", fd.failure().text);
    bool own = status.st_uid == 0 || status.st_uid == ::geteuid();
    if (!own || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return error(ErrorKind::denied, "{} is not used, since others than root may have written it", path);
    return std::move(*fd);
}

} // namespace

std::string machine_state(const std::string &root) {
    std::string state;
    for (const char *file :
         {"/proc/sys/kernel/random/boot_id", "/sys/devices/system/cpu/online", "/sys/devices/system/node/online",
          "/sys/devices/system/node/has_memory", "/sys/devices/system/node/has_normal_memory"}) {
        auto text = read_small_file(root + file);
        state += fmt::format("{} {}", file, text ? *text : "none\n");
    }
    // Some of it comes and goes where a hypervisor lends it.
    if (auto text = read_small_file(root + "/proc/meminfo"); text && text->starts_with("MemTotal:"))
        state += fmt::format("memory {} GiB\n", std::strtoull(text->c_str() + 9, nullptr, 10) >> 20);
    const std::string bus = root + "/sys/bus/pci/devices/";
    for (const auto &device : names_in(bus))
        state += fmt::format("{} {}\n", device, target_of(bus + device + "/driver"));
    // What drivers have made of them. Others come and go with containers, and hwloc leaves them out. No disks: nobody
    // chooses processors by them, and there may be hundreds of loop devices.
    for (const char *kind : {"net", "infiniband", "drm"}) {
        const std::string directory = fmt::format("{}/sys/class/{}/", root, kind);
        for (const auto &name : names_in(directory)) {
            if (auto target = target_of(directory + name); target.find("/pci") != std::string::npos)
                state += target + "\n";
        }
    }
    state.resize(std::min(state.size(), max_state));
    return state;
}

Result<std::string> read_topology_file(const std::string &path, const std::string &state) {
    auto fd = open_trusted(path);
    if (!fd)
        return fd.failure();
    auto text = read_all(fd->get(), path, max_file);
    if (!text)
        return text.failure();
    const std::string head = head_of(state);
    if (!text->starts_with(head) || !text->ends_with(end_mark) || text->size() < head.size() + end_mark.size())
        return error(ErrorKind::not_found, "{} is of before a change of the host", path);
    std::string xml = text->substr(head.size(), text->size() - head.size() - end_mark.size());
    if (xml.empty())
        return error(ErrorKind::unsupported, "{} says that there are devices of which each job sees its own", path);
    return xml;
}

bool topology_file_is_current(const std::string &path, const std::string &state) {
    auto fd = open_trusted(path);
    const std::string head = head_of(state);
    auto part = [&](off_t at, std::size_t size) {
        std::string text(size, '\0');
        ssize_t got = ::pread(fd->get(), text.data(), size, at);
        return text.substr(0, got > 0 ? static_cast<std::size_t>(got) : 0);
    };
    struct stat status {};
    const off_t least = static_cast<off_t>(head.size() + end_mark.size());
    return fd && ::fstat(fd->get(), &status) == 0 && status.st_size >= least && part(0, head.size()) == head &&
           part(status.st_size - static_cast<off_t>(end_mark.size()), end_mark.size()) == end_mark;
}

Result<TopologyFileWriter> TopologyFileWriter::begin(const std::string &path) {
    const std::string fresh = path + ".new";
    UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!fd)
        return system_error(fresh, errno);
    // What a writer that was killed has left is written anew; what another has just put into its place is not.
    struct stat opened {
    }, named{};
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(fd.get(), &opened) != 0 ||
        ::lstat(fresh.c_str(), &named) != 0 || opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
        return error(ErrorKind::limit, "{} is being written", path);
    if (::fchown(fd.get(), ::geteuid(), static_cast<gid_t>(-1)) != 0 || ::ftruncate(fd.get(), 0) != 0)
        return system_error(fresh, errno);
    return TopologyFileWriter(path, std::move(fd));
}

Result<void> TopologyFileWriter::finish(const std::string &state, std::string_view xml) {
    const std::string fresh = path_ + ".new";
    auto failed = [&] {
        Error why = system_error(fresh, errno);
        ::unlink(fresh.c_str()); // the room is wanted
        return why;
    };
    const std::string text = fmt::format("{}{}{}", head_of(state), xml, end_mark);
    if (text.size() > max_file)
        return error(ErrorKind::limit, "{} would be over {} bytes", path_, max_file);
    for (std::size_t at = 0; at < text.size();) {
        ssize_t written = ::write(fd_.get(), text.data() + at, text.size() - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return failed();
        at += static_cast<std::size_t>(written);
    }
    if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0 || ::rename(fresh.c_str(), path_.c_str()) != 0)
        return failed();
    return {};
}

} // namespace pmixhost
