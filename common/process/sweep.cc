// See sweep.h.
#include "common/process/sweep.h"

#include "common/base/unique_fd.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>

namespace pmixhost {

namespace {

// Parent of `pid`, from /proc/PID/stat: "PID (NAME) STATE PPID ...". NAME may hold anything.
pid_t parent_of(const char *pid) {
    std::string path = std::string("/proc/") + pid + "/stat";
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[512];
    ssize_t n = fd ? ::read(fd.get(), text, sizeof text - 1) : -1;
    if (n <= 0)
        return -1;
    text[n] = 0;
    const char *name_end = std::strrchr(text, ')');
    char state;
    int parent = -1;
    if (!name_end || std::sscanf(name_end + 1, " %c %d", &state, &parent) != 2)
        return -1;
    return parent;
}

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
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) && parent_of(entry->d_name) == self)
            children.push_back(static_cast<pid_t>(std::atol(entry->d_name)));
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
