// See sweep.h.
#include "common/process/sweep.h"

#include "common/base/unique_fd.h"
#include "common/process/process_stat.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>

namespace pmixhost {

namespace {

bool contains(const std::vector<pid_t> &pids, pid_t pid) {
    return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

// Waits for a child that has been killed, at most until `deadline`.
bool wait_for(pid_t pid, std::chrono::steady_clock::time_point deadline) {
    UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{handle.get(), POLLIN, 0};
    if (handle)
        while (::poll(&ready, 1, std::max<int>(0, static_cast<int>(left.count()))) < 0 && errno == EINTR) {
        }
    return ::waitpid(pid, nullptr, WNOHANG) != 0; // reaped, or reaped by somebody else
}

} // namespace

bool adopt_orphans() {
    return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

std::vector<pid_t> children_of_this_process() {
    std::vector<pid_t> children;
    std::unique_ptr<DIR, int (*)(DIR *)> proc(::opendir("/proc"), ::closedir);
    if (!proc)
        return children;
    pid_t self = ::getpid();
    while (const dirent *entry = ::readdir(proc.get())) {
        const auto pid = static_cast<pid_t>(std::atol(entry->d_name)); // 0: no process
        auto stat = pid > 0 ? read_process_stat(pid) : Result<ProcessStat>(error(ErrorKind::not_found, "no process"));
        if (stat && stat->parent == self)
            children.push_back(pid);
    }
    return children;
}

std::vector<pid_t> sweep_children(std::chrono::milliseconds limit, const std::vector<pid_t> &keep) {
    auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        auto children = children_of_this_process();
        std::erase_if(children, [&](pid_t pid) { return contains(keep, pid); });
        if (children.empty())
            return {};
        for (pid_t pid : children)
            ::kill(pid, SIGKILL);
        std::vector<pid_t> stuck;
        for (pid_t pid : children) {
            if (!wait_for(pid, deadline))
                stuck.push_back(pid);
        }
        if (!stuck.empty() || std::chrono::steady_clock::now() > deadline)
            return stuck;
    }
}

void reap_orphans(const std::vector<pid_t> &keep) {
    for (pid_t pid : children_of_this_process()) {
        if (!contains(keep, pid))
            ::waitpid(pid, nullptr, WNOHANG);
    }
}

} // namespace pmixhost
