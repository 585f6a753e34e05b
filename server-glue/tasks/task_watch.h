// The tasks of this host as processes: hears of their end, whether or not they ever spoke PMIx, and
// signals them. A pidfd names a process without the danger that its pid is given to another one.
#pragma once

#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"

#include <map>
#include <optional>
#include <sys/types.h>

namespace pmixhost {

class TaskWatch {
  public:
    // `wait_status` is that of waitpid(2), when it can be known. A process that is not a child shows it until it is
    // reaped, and on kernels from 6.15 on afterwards too.
    using OnEnd = std::function<void(Rank, std::optional<int> wait_status)>;
    TaskWatch(EventLoop &loop, OnEnd on_end) : loop_(loop), on_end_(std::move(on_end)) {}

    // Watches a process from now on. Fails (not_found) when it has ended and is waited for already,
    // (denied) when this rank is watched already, and as `pidfd` has failed.
    Result<void> add(Rank rank, pid_t pid, Result<UniqueFd> pidfd);
    // The same for a pid that is known to be the task's now: a child of whoever says so.
    Result<void> add(Rank rank, pid_t pid);
    // The task is known to have ended (a backend said so); on_end is called unless it was.
    void ended(Rank rank, std::optional<int> wait_status);
    bool has(Rank rank) const { return tasks_.contains(rank); }
    // Is it past its last instruction, although its end is not reported yet? Its connections are
    // closed a moment before its pidfd tells.
    bool ending(Rank rank) const;
    // The same for who asks again and again. `closed` is a number that changes before a connection of the task that was
    // closed by its end matters (guard/closed_connections.h): a task that was seen alive with that number is not
    // looked at again. Nothing: it is looked at.
    bool ending(Rank rank, std::optional<std::uint64_t> closed);
    // 0 when it is not running.
    pid_t pid_of(Rank rank) const;
    std::size_t running() const { return tasks_.size(); }
    // Fails (not_found) when the rank is not running here, and as system_error() says of kill(2).
    Result<void> signal(Rank rank, int signal);

  private:
    struct Task {
        pid_t pid;
        UniqueFd fd;
        UniqueFd memory; // /proc/PID/statm; may be empty
        UniqueFd stat;   // /proc/PID/stat; may be empty
        EventLoop::Handle watch = {};
        std::optional<std::uint64_t> alive_at = std::nullopt; // which number it was when it was last looked at
    };
    EventLoop &loop_;
    OnEnd on_end_;
    std::map<Rank, Task> tasks_;
};

} // namespace pmixhost
