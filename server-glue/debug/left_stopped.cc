// See left_stopped.h.
#include "server-glue/debug/left_stopped.h"

#include "common/peer/peer_process.h"
#include "common/process/process_stat.h"
#include "common/process/process_status.h"

#include <algorithm>
#include <csignal>
#include <sys/syscall.h>

namespace pmixhost {

static constexpr Duration between_turns = std::chrono::milliseconds(10);
static constexpr std::size_t most_at_once = 32, most_threads_at_once = 256; // the loop has more to do
// Its threads stop one after the other, and one that is about to shows nothing of it until it gets a processor.
static constexpr unsigned looks_enough = 10;

UniqueFd LeftStopped::open(const HeldProcess &process) {
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0u)));
    auto stat = pidfd ? read_process_stat(process.pid) : Result<ProcessStat>(error(ErrorKind::not_found, "it ended"));
    return stat && stat->began == process.began && !is_reaped(pidfd.get()) ? std::move(pidfd) : UniqueFd();
}

void LeftStopped::let_run(const HeldProcess &process, UniqueFd pidfd) {
    if (std::none_of(left_.begin(), left_.end(), [&process](const One &one) { return one.process == process; }))
        left_.push_back({process, std::move(pidfd), loop_.now() + patience});
    if (!timer_)
        timer_ = loop_.after(Duration::zero(), [this] { look(); });
}

void LeftStopped::forget_ended() {
    std::erase_if(left_, [](const One &one) { return is_reaped(one.pidfd.get()); });
}

// Whoever is not come to in this turn is the first in the next one.
void LeftStopped::look() {
    std::size_t threads = most_threads_at_once;
    for (std::size_t count = std::min(left_.size(), most_at_once); count > 0 && threads > 0; --count) {
        One one = std::move(left_.front());
        left_.pop_front();
        if (!runs_on(one, threads))
            left_.push_back(std::move(one));
    }
    if (left_.empty())
        timer_.reset();
    else
        timer_ = loop_.after(between_turns, [this] { look(); });
}

bool LeftStopped::runs_on(One &one, std::size_t &threads) {
    const pid_t pid = one.process.pid;
    auto stat = read_process_stat(pid);
    if (!stat || is_reaped(one.pidfd.get()) || stat->state == 'Z' || stat->state == 'X')
        return true;
    const bool late = loop_.now() >= one.until;
    if (tracer_of(pid) != 0) { // a debugger that ends a little later, which lets go by that
        one.told = false;
        if (late)
            log_.warning("process {} stays in the hands of a debugger, of whom nothing is known", pid);
        return late;
    }
    if (is_paused_(pid))
        return true;
    // The first time without a look, for a stop that is not seen yet.
    if (!one.told || stat->state == 'T' || is_to_stop(pid, threads)) {
        one.told = true;
        one.quiet = 0;
        ::syscall(SYS_pidfd_send_signal, one.pidfd.get(), SIGCONT, nullptr, 0u);
        if (late)
            log_.warning("process {} was left stopped by a debugger, and does not run on", pid);
        return late;
    }
    return ++one.quiet >= looks_enough || late;
}

} // namespace pmixhost
