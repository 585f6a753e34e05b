// See task_watch.h.
#include "server-glue/task_watch.h"

#include <cerrno>
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
    Task task{pid, std::move(fd), {}};
    task.watch = loop_.watch(task.fd.get(), EventLoop::readable, [this, rank](unsigned) { ended(rank); });
    tasks_.emplace(rank, std::move(task));
    return {};
}

void TaskWatch::ended(Rank rank) {
    if (tasks_.erase(rank) > 0)
        on_end_(rank);
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
