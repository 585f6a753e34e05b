// See stopped_thread.h.
#include "server-glue/evidence/stopped_thread.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <utility>

namespace pmixhost {

using Clock = std::chrono::steady_clock;

Result<StoppedThread> StoppedThread::stop(pid_t thread, std::chrono::milliseconds patience) {
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0)
        return system_error("it cannot be traced", errno);
    if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0)
        return system_error("it cannot be stopped", errno);
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    const auto deadline = Clock::now() + patience;
    for (;;) {
        int status = 0;
        pid_t seen = ::waitpid(thread, &status, __WALL | WNOHANG);
        if (seen < 0)
            return system_error("it cannot be waited for", errno);
        if (seen == thread && WIFSTOPPED(status))
            return StoppedThread(thread, status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
        if (seen == thread)
            return error(ErrorKind::not_found, "it ended meanwhile");
        auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
        if (left <= 0)
            return error(ErrorKind::timeout, "it did not stop within {} ms: it waits in the kernel", patience.count());
        timespec time{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
        ::sigtimedwait(&child, nullptr, &time);
    }
}

StoppedThread::StoppedThread(StoppedThread &&other) noexcept
    : thread_(std::exchange(other.thread_, 0)), signal_(other.signal_) {}

StoppedThread::~StoppedThread() {
    if (thread_ > 0)
        ::ptrace(PTRACE_DETACH, thread_, nullptr, static_cast<long>(signal_));
}

} // namespace pmixhost
