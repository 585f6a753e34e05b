// See daemon_launch.h.
#include "plugins/kit/daemon_launch.h"

#include "common/base/fd_pair.h"
#include "common/process/bare_fork.h"
#include "common/process/pointers.h"
#include "plugins/kit/fresh_process.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace pmixhost::kit {

namespace {

// All that the new process needs, in the form the system calls want.
struct Prepared {
    const DaemonLaunch &launch;
    std::vector<int> descriptors; // ascending
    std::vector<char *> arguments, environment;
    std::string cannot_execute;
    int go;   // a byte: begin; end of file: give up
    int born; // the middle process writes here
};

// 32-bit machines have calls with 16-bit numbers under the plain names.
#ifdef SYS_setresuid32
constexpr long call_setgroups = SYS_setgroups32, call_setresgid = SYS_setresgid32, call_setresuid = SYS_setresuid32,
               call_setuid = SYS_setuid32;
#else
constexpr long call_setgroups = SYS_setgroups, call_setresgid = SYS_setresgid, call_setresuid = SYS_setresuid,
               call_setuid = SYS_setuid;
#endif

[[noreturn]] void give_up(const Prepared &prepared, const char *what) {
    const char *why = strerrordesc_np(errno);
    char line[512];
    std::size_t used = 0;
    for (const char *part : {prepared.launch.host.c_str(), ": ", what, ": ", why ? why : "error"}) {
        std::size_t length = std::min(std::strlen(part), sizeof line - used);
        std::memcpy(line + used, part, length);
        used += length;
    }
    if (prepared.launch.page)
        prepared.launch.page->fail(std::string_view(line, used));
    _exit(1);
}

// The RM may stand at -1000 and, with a site's settings, above normal priority.
void reset_privileged_scheduling() {
    int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        [[maybe_unused]] ssize_t written = ::write(fd, "0", 1);
        ::close(fd);
    }
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0)
        setpriority(PRIO_PROCESS, 0, 0);
}

void close_between(unsigned first, unsigned last) {
    if (first > last)
        return;
#ifdef SYS_close_range
    if (::syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    // For kernels before 5.9. The RM has no descriptors beyond this.
    for (unsigned fd = first; fd <= std::min(last, 65'535u); ++fd)
        ::close(static_cast<int>(fd));
}

void keep_only(const Prepared &prepared) {
    int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; ++fd) {
        if (null < 0 || (null != fd && ::dup2(null, fd) < 0))
            give_up(prepared, "cannot open /dev/null");
    }
    unsigned next = 3;
    for (int fd : prepared.descriptors) {
        if (fd >= 3)
            close_between(next, static_cast<unsigned>(fd) - 1);
        next = static_cast<unsigned>(fd) + 1;
        int flags = ::fcntl(fd, F_GETFD);
        if (flags < 0 || ::fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) < 0)
            give_up(prepared, "cannot keep a descriptor");
    }
    close_between(next, UINT_MAX);
}

void become(const Prepared &prepared) {
    const User &user = prepared.launch.user;
    if (geteuid() == 0) {
        if (::syscall(call_setgroups, user.groups.size(), user.groups.data()) != 0)
            give_up(prepared, "cannot set the user's groups");
        if (::syscall(call_setresgid, user.gid, user.gid, user.gid) != 0)
            give_up(prepared, "cannot set the user's group");
        if (::syscall(call_setresuid, user.uid, user.uid, user.uid) != 0)
            give_up(prepared, "cannot become the user");
    }
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;
    bool is_user = getresuid(&real, &effective, &saved) == 0 && real == user.uid && effective == user.uid &&
                   saved == user.uid && getresgid(&real_group, &effective_group, &saved_group) == 0 &&
                   real_group == user.gid && effective_group == user.gid && saved_group == user.gid;
    // Nobody but root himself may be able to go back.
    constexpr uid_t as_it_is = static_cast<uid_t>(-1);
    bool could_return =
        user.uid != 0 && (::syscall(call_setuid, 0) == 0 || ::syscall(call_setresuid, as_it_is, 0, as_it_is) == 0);
    if (!is_user || could_return) {
        errno = EPERM;
        give_up(prepared, "cannot become the user");
    }
}

[[noreturn]] void run_daemon(const Prepared &prepared) {
    const DaemonLaunch &launch = prepared.launch;
    // Not a session of its own: Linux would schedule it as one beside all tasks together (autogroup, sched(7)), and
    // each message between them would cost more.
    setpgid(0, 0);
    reset_signals();
    ::close(prepared.born); // or the parent would wait for us if the middle process died
    char byte;
    ssize_t got;
    do {
        got = ::read(prepared.go, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(1); // whoever was to say go has told why not
    reset_privileged_scheduling();
    if (launch.mount_namespace >= 0 && ::setns(launch.mount_namespace, CLONE_NEWNS) != 0)
        give_up(prepared, "cannot join the job's mount namespace");
    keep_only(prepared);
    umask(077);
    if (chdir("/") != 0)
        give_up(prepared, "cannot change to /");
    become(prepared);
    // The kernel shows a door's visitors who listened last.
    if (launch.door >= 0 && ::listen(launch.door, 4096) != 0)
        give_up(prepared, "cannot listen at the task door");
    alarm(launch.lifetime); // outlives the exec
    ::execve(launch.path.c_str(), prepared.arguments.data(), prepared.environment.data());
    give_up(prepared, prepared.cannot_execute.c_str());
}

// The program first.
std::vector<char *> words_of(const DaemonLaunch &launch) {
    auto words = pointers_to(launch.arguments);
    words.insert(words.begin(), const_cast<char *>(launch.path.c_str()));
    return words;
}

} // namespace

Result<pid_t> launch_daemon(const DaemonLaunch &launch) {
    // Sockets, not pipes: writing to one must not raise SIGPIPE in the RM.
    auto go = make_socket_pair();
    auto born = make_socket_pair();
    if (!go || !born)
        return go ? born.failure() : go.failure();
    Prepared prepared{launch,
                      launch.descriptors,
                      words_of(launch),
                      pointers_to(launch.environment),
                      "cannot execute " + launch.path,
                      go->first.get(),
                      born->second.get()};
    std::sort(prepared.descriptors.begin(), prepared.descriptors.end());

    // No signal handler of the RM runs in the new process.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t middle = bare_fork();
    if (middle == 0) {
        ::close(go->second.get());
        pid_t daemon = bare_fork();
        if (daemon == 0)
            run_daemon(prepared);
        bool told = ::send(born->second.get(), &daemon, sizeof daemon, MSG_NOSIGNAL) == sizeof daemon;
        _exit(told && daemon > 0 ? 0 : 1);
    }
    int fork_error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (middle < 0)
        return system_error("fork", fork_error);
    go->first.reset();
    born->second.reset();
    int status = 0;
    while (waitpid(middle, &status, 0) < 0 && errno == EINTR) {
    }
    pid_t daemon = -1;
    if (::read(born->first.get(), &daemon, sizeof daemon) != sizeof daemon || daemon <= 0)
        return error(ErrorKind::limit, "the process for pmixhostd could not be made");
    if (launch.contain && !launch.contain(daemon))
        return error(ErrorKind::system, "pmixhostd could not be put into the step's container");
    if (::send(go->second.get(), "g", 1, MSG_NOSIGNAL) != 1)
        return system_error("starting pmixhostd", errno);
    return daemon;
}

} // namespace pmixhost::kit
