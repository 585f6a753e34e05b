// See daemon_cgroup.h.
#include "plugins/slurm/shim/daemon_cgroup.h"

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace pmixhost::slurm {

namespace {

constexpr int look_again_ms = 5;

// Takes the part up to the next `end` off the front, and that with it.
std::string_view next(std::string_view &rest, char end) {
    std::string_view part = rest.substr(0, rest.find(end));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
}

bool lists(std::string_view list, std::string_view word) { // "a,b,c"
    while (!list.empty()) {
        if (next(list, ',') == word)
            return true;
    }
    return false;
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}
std::string_view without_last(std::string_view path) {
    std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool is_jobs(std::string_view path) {
    std::string_view name = last_part(path);
    return name.size() > 4 && name.starts_with("job_") &&
           name.find_first_not_of("0123456789", 4) == std::string_view::npos;
}

// A directory of cgroups as the kernel names it, and in which hierarchy: "freezer", or empty for version 2.
struct Place {
    std::string_view path, controller;
};

std::optional<Place> place_of_job(std::string_view cgroups) {
    std::optional<Place> unified;
    while (!cgroups.empty()) {
        std::string_view path = next(cgroups, '\n');
        std::string_view number = next(path, ':'), controllers = next(path, ':');
        if (lists(controllers, "freezer") && is_jobs(path))
            return Place{path, "freezer"};
        std::string_view step = without_last(path), job = without_last(step);
        if (number == "0" && controllers.empty() && last_part(path) == "slurm" &&
            last_part(step).starts_with("step_") && is_jobs(job))
            unified = Place{job, {}};
    }
    return unified;
}

// ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE SUPER_OPTIONS
std::string mounted_at(std::string_view mounts, const Place &place) {
    while (!mounts.empty()) {
        std::string_view line = next(mounts, '\n');
        std::size_t dash = line.find(" - ");
        if (dash == std::string_view::npos)
            continue;
        std::string_view what = line.substr(dash + 3), type = next(what, ' ');
        next(what, ' ');
        bool matches = place.controller.empty() ? type == "cgroup2" : type == "cgroup" && lists(what, place.controller);
        for (int skipped = 0; skipped < 3; ++skipped)
            next(line, ' ');
        std::string_view root = next(line, ' '), mountpoint = next(line, ' ');
        if (root == "/")
            root = {};
        std::string_view path = place.path;
        if (!matches || !path.starts_with(root) || mountpoint.find('\\') != std::string_view::npos)
            continue;
        path.remove_prefix(root.size());
        if (path.starts_with('/'))
            return std::string(mountpoint) + std::string(path);
    }
    return {};
}

bool write_into(const std::string &path, std::string_view text) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

} // namespace

std::string job_cgroup(std::string_view cgroups, std::string_view mounts) {
    auto place = place_of_job(cgroups);
    return place ? mounted_at(mounts, *place) : std::string();
}

std::string own_job_cgroup() {
    auto cgroups = read_small_file("/proc/self/cgroup"), mounts = read_small_file("/proc/self/mountinfo");
    return cgroups && mounts ? job_cgroup(*cgroups, *mounts) : std::string();
}

std::optional<DaemonCgroup> DaemonCgroup::make(const std::string &job, const StepName &step, pid_t pid) {
    std::string path = fmt::format("{}/pmixhost_{}", job, step.step_id);
    if (step.het_component)
        path += fmt::format("+{}", *step.het_component);
    // A directory that is there already was left by a slurmstepd that was killed, for the same step before it was
    // requeued.
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
        return {};
    DaemonCgroup made(std::move(path));
    if (made.add(pid))
        return made;
    ::rmdir(made.path_.c_str());
    return {};
}

bool DaemonCgroup::add(pid_t pid) const {
    return write_into(path_ + "/cgroup.procs", std::to_string(pid));
}

std::vector<pid_t> DaemonCgroup::processes() const {
    std::vector<pid_t> list;
    auto text = read_small_file(path_ + "/cgroup.procs");
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) {
        std::string_view line = next(rest, '\n');
        pid_t pid = 0;
        std::from_chars(line.data(), line.data() + line.size(), pid);
        if (pid > 0) // 0: of another process namespace
            list.push_back(pid);
    }
    return list;
}

// With one word to the kernel where it knows that one (version 2, from Linux 5.14 on). Else they are frozen first, or
// one that does nothing but fork and end would always have another number than the one that was read; what is frozen
// dies when it is thawed.
// A number may become another process' between reading and killing. So the processes are held first, and those still
// listed afterwards are the ones that are meant.
void DaemonCgroup::kill_all() const {
    if (write_into(path_ + "/cgroup.kill", "1"))
        return;
    const bool first_version = write_into(path_ + "/freezer.state", "FROZEN");
    const bool frozen = first_version || write_into(path_ + "/cgroup.freeze", "1");
    std::vector<std::pair<pid_t, UniqueFd>> held;
    for (pid_t pid : processes())
        held.emplace_back(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
    auto still = processes();
    for (const auto &[pid, fd] : held) {
        if (fd && std::find(still.begin(), still.end(), pid) != still.end())
            ::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
    }
    if (frozen)
        write_into(path_ + (first_version ? "/freezer.state" : "/cgroup.freeze"), first_version ? "THAWED" : "0");
}

// The kernel removes none that has a process in it.
bool DaemonCgroup::end(std::chrono::milliseconds limit) const {
    auto is_removed = [this] { return ::rmdir(path_.c_str()) == 0 || errno == ENOENT; };
    if (is_removed())
        return true;
    auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        kill_all();
        if (is_removed())
            return true;
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
        ::poll(nullptr, 0, look_again_ms);
    }
}

} // namespace pmixhost::slurm
