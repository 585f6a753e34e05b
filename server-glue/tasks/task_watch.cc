// See task_watch.h.
#include "server-glue/tasks/task_watch.h"

#include "common/peer/peer_process.h"

#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

// The last field of /proc/PID/stat, of a process that is not reaped yet.
static std::optional<int> status_of_zombie(int stat) {
    char text[1024];
    ssize_t n = stat < 0 ? -1 : ::pread(stat, text, sizeof text, 0);
    std::string_view line(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    std::size_t name_end = line.rfind(')'); // the name may hold anything
    std::size_t last = line.rfind(' ');
    if (name_end == line.npos || name_end + 2 >= line.size() || last <= name_end + 2)
        return std::nullopt;
    if (line[name_end + 2] != 'Z' && line[name_end + 2] != 'X')
        return std::nullopt;
    int status = 0;
    auto [end, wrong] = std::from_chars(line.data() + last + 1, line.data() + line.size(), status);
    if (wrong != std::errc())
        return std::nullopt;
    return status;
}

// PIDFD_GET_INFO, which the headers of older systems do not have.
static std::optional<int> status_of_reaped(int pidfd) {
    struct {
        std::uint64_t mask, cgroup;
        std::uint32_t ids[11];
        std::int32_t exit_code;
    } info{};
    static_assert(sizeof info == 64);
    constexpr std::uint64_t exit_wanted = 1u << 3;
    info.mask = exit_wanted;
    if (::ioctl(pidfd, _IOWR(0xff, 11, decltype(info)), &info) != 0 || !(info.mask & exit_wanted))
        return std::nullopt;
    return info.exit_code;
}

static std::optional<int> wait_status_of(int pidfd, int stat) {
    auto status = status_of_zombie(stat);
    return status ? status : status_of_reaped(pidfd);
}

Result<void> TaskWatch::add(Rank rank, pid_t pid) {
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (fd)
        return add(rank, pid, std::move(fd));
    return add(rank, pid,
               errno == ESRCH ? error(ErrorKind::not_found, "process {} has ended", pid)
                              : system_error("pidfd_open", errno));
}

Result<void> TaskWatch::add(Rank rank, pid_t pid, Result<UniqueFd> pidfd) {
    if (tasks_.contains(rank))
        return error(ErrorKind::denied, "rank {} is running already, as process {}", rank, tasks_.at(rank).pid);
    if (!pidfd)
        return pidfd.failure();
    UniqueFd memory(::open(fmt::format("/proc/{}/statm", pid).c_str(), O_RDONLY | O_CLOEXEC));
    UniqueFd stat(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
    // It has not been waited for even now, so these files are its own.
    if (is_reaped(pidfd->get()))
        return error(ErrorKind::not_found, "process {} has ended", pid);
    Task task{pid, std::move(*pidfd), std::move(memory), std::move(stat)};
    task.watch = loop_.watch(task.fd.get(), EventLoop::readable, [this, rank](unsigned) {
        const Task &it = tasks_.at(rank);
        ended(rank, wait_status_of(it.fd.get(), it.stat.get()));
    });
    tasks_.emplace(rank, std::move(task));
    return {};
}

void TaskWatch::ended(Rank rank, std::optional<int> wait_status) {
    if (tasks_.erase(rank) > 0)
        on_end_(rank, wait_status);
}

// A thread that ends gives up its memory before its files. A process that has gone altogether has none either.
static bool has_memory(int statm) {
    char text[8];
    ssize_t n = ::pread(statm, text, sizeof text, 0);
    return n > 0 && !std::string_view(text, static_cast<std::size_t>(n)).starts_with("0 ");
}

bool TaskWatch::ending(Rank rank) const {
    auto found = tasks_.find(rank);
    if (found == tasks_.end() || !found->second.memory || has_memory(found->second.memory.get()))
        return false;
    // The first thread has ended. It may have left the others to go on.
    std::string path = fmt::format("/proc/{}/task", found->second.pid);
    std::unique_ptr<DIR, int (*)(DIR *)> threads(opendir(path.c_str()), closedir);
    while (dirent *entry = threads ? readdir(threads.get()) : nullptr) {
        if (entry->d_name[0] == '.')
            continue;
        std::string statm = fmt::format("{}/{}/statm", path, entry->d_name);
        UniqueFd fd(::open(statm.c_str(), O_RDONLY | O_CLOEXEC));
        if (fd && has_memory(fd.get()))
            return false;
    }
    return true;
}

bool TaskWatch::ending(Rank rank, std::optional<std::uint64_t> closed) {
    auto found = tasks_.find(rank);
    if (found == tasks_.end() || (closed && found->second.alive_at == closed))
        return false;
    bool ends = ending(rank);
    if (!ends)
        found->second.alive_at = closed;
    return ends;
}

pid_t TaskWatch::pid_of(Rank rank) const {
    auto found = tasks_.find(rank);
    return found == tasks_.end() ? 0 : found->second.pid;
}

Result<void> TaskWatch::signal(Rank rank, int signal) {
    auto found = tasks_.find(rank);
    if (found == tasks_.end())
        return error(ErrorKind::not_found, "rank {} is not running on this host", rank);
    if (syscall(SYS_pidfd_send_signal, found->second.fd.get(), signal, nullptr, 0) != 0)
        return system_error("cannot signal a task", errno);
    return {};
}

} // namespace pmixhost
