// See task_watch.h.
#include "server-glue/task_watch.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

Result<void> TaskWatch::add(Rank rank, pid_t pid) {
    if (tasks_.contains(rank))
        return error(ErrorKind::denied, "rank {} is running already, as process {}", rank,
                     tasks_.at(rank).pid);
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!fd)
        return errno == ESRCH ? error(ErrorKind::not_found, "process {} has ended", pid)
                              : system_error("pidfd_open", errno);
    UniqueFd memory(::open(fmt::format("/proc/{}/statm", pid).c_str(), O_RDONLY | O_CLOEXEC));
    Task task{pid, std::move(fd), std::move(memory), {}};
    task.watch = loop_.watch(task.fd.get(), EventLoop::readable, [this, rank](unsigned) { ended(rank); });
    tasks_.emplace(rank, std::move(task));
    return {};
}

void TaskWatch::ended(Rank rank) {
    if (tasks_.erase(rank) > 0)
        on_end_(rank);
}

// A thread that ends gives up its memory before its files. Gone altogether: has none either.
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
