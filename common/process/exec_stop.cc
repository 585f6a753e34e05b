// See exec_stop.h.
#include "server-glue/exec_stop.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// A traced process does not get what the file would give it, and would run on without.
bool changes_privileges(const std::string &file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0)
        return false; // execve() will say so
    bool set_user = (status.st_mode & S_ISUID) && status.st_uid != ::geteuid();
    bool set_group = (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != ::getegid();
    return set_user || set_group || ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

void close_all_but(int one, int other) {
    int low = std::min(one, other), high = std::max(one, other);
    auto close_between = [](unsigned first, unsigned last) {
        if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0)
            return;
        for (unsigned fd = first; fd <= last && fd < 65'536; ++fd)
            ::close(static_cast<int>(fd));
    };
    if (low < 0)
        low = high;
    if (low > 0)
        close_between(0, static_cast<unsigned>(low) - 1);
    if (high > low)
        close_between(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1);
    close_between(static_cast<unsigned>(high) + 1, ~0u);
}

// Lets it run until it has executed the program. False: it has ended.
bool await_exec(pid_t task) {
    for (;;) {
        int status = 0;
        if (::waitpid(task, &status, __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return false;
        }
        if (!WIFSTOPPED(status))
            return false;
        int event = status >> 16;
        if (event == PTRACE_EVENT_EXEC)
            return true;
        if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP)
            ::ptrace(PTRACE_LISTEN, task, nullptr, nullptr); // somebody else stops it
        else
            ::ptrace(PTRACE_CONT, task, nullptr, event ? 0L : static_cast<long>(WSTOPSIG(status)));
    }
}

[[noreturn]] void help(pid_t task, int channel, int fd) {
    // A signal to the step's processes is not for this one, which ends with the task.
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    close_all_but(channel, fd);
    pid_t self = ::getpid();
    char go = 0;
    if (::write(channel, &self, sizeof self) != sizeof self || ::read(channel, &go, 1) != 1)
        ::_exit(1);
    // The process is killed with the helper, as long as it is traced.
    long seized = ::ptrace(PTRACE_SEIZE, task, nullptr, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    int error_number = seized == 0 ? 0 : errno;
    if (::write(channel, &error_number, sizeof error_number) != sizeof error_number || error_number != 0)
        ::_exit(1);
    ::close(channel);
    if (!await_exec(task))
        ::_exit(0);
    // It is pending before it is let go: no instruction comes first.
    if (::kill(task, SIGSTOP) != 0 || ::ptrace(PTRACE_DETACH, task, nullptr, nullptr) != 0)
        ::_exit(1);
    if (fd >= 0 && ::write(fd, "=", 1) != 1)
        ::_exit(1);
    ::_exit(0);
}

bool start_helper(int channel, int other_end, int fd) {
    pid_t task = ::getpid();
    pid_t child = ::fork();
    if (child < 0)
        return false;
    if (child == 0) {
        ::close(other_end);
        pid_t helper = ::fork();
        if (helper == 0)
            help(task, channel, fd);
        ::_exit(helper > 0 ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

std::string stop_on_exec(const std::string &file, int fd, int &error_number) {
    error_number = EPERM;
    if (changes_privileges(file))
        return fmt::format("{} cannot be stopped at its first instruction, because it changes its privileges", file);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        error_number = errno;
        return fmt::format("{} cannot be stopped at its first instruction: {}", file, std::strerror(error_number));
    }
    bool started = start_helper(ends[1], ends[0], fd);
    ::close(ends[1]);
    pid_t helper = 0;
    int answer = EAGAIN;
    if (started && ::read(ends[0], &helper, sizeof helper) == sizeof helper) {
        ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(helper), 0, 0, 0); // unknown where Yama is not
        if (::write(ends[0], "g", 1) != 1 || ::read(ends[0], &answer, sizeof answer) != sizeof answer)
            answer = EAGAIN;
    }
    ::close(ends[0]);
    error_number = answer;
    if (answer == 0)
        return {};
    return fmt::format("{} cannot be stopped at its first instruction: {}{}", file, std::strerror(answer),
                       answer == EPERM ? " (ptrace is not allowed here; see /proc/sys/kernel/yama/ptrace_scope)" : "");
}

} // namespace pmixhost
