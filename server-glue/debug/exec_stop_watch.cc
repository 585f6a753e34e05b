// See exec_stop_watch.h.
#include "server-glue/debug/exec_stop_watch.h"

#include "common/process/exec_stop.h"
#include "common/process/process_stat.h"

#include <algorithm>

namespace pmixhost {

// The descriptor hangs up a moment before the process stops.
static constexpr Duration first_pause = std::chrono::milliseconds(1), longest_pause = std::chrono::milliseconds(100);

void ExecStopWatch::await(Rank rank, UniqueFd armed, std::function<void(bool)> done) {
    if (!is_armed(armed.get()))
        return done(false);
    One &one = waiting_[rank];
    one.watch.reset();
    one.pause = first_pause;
    one.armed = std::move(armed);
    one.done = std::move(done);
    one.until = TimePoint::max();
    one.watch = loop_.watch(one.armed.get(), EventLoop::readable, [this, rank](unsigned) {
        One &executed = waiting_.at(rank);
        executed.until = loop_.now() + patience;
        look(rank);
    });
}

void ExecStopWatch::look(Rank rank) {
    One &one = waiting_.at(rank);
    pid_t pid = pid_of_(rank);
    auto stat = pid > 0 ? read_process_stat(pid) : Result<ProcessStat>(error(ErrorKind::not_found, "it has ended"));
    bool stands = stat && (stat->state == 'T' || stat->state == 't');
    bool ended = !stat || stat->state == 'Z' || stat->state == 'X';
    if (!stands && !ended && loop_.now() < one.until) {
        one.watch = loop_.after(one.pause, [this, rank] { look(rank); });
        one.pause = std::min(2 * one.pause, longest_pause);
        return;
    }
    auto done = std::move(one.done);
    waiting_.erase(rank);
    done(stands);
}

} // namespace pmixhost
