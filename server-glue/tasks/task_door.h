// The task door: where each task of this host, just before its exec, gets the environment it needs (protocol:
// contrib/doc/task-door.md). The kernel tells who asks.
//
// Connections of other users are closed at once. At most 256 visitors that have not said what they want are held, 32
// of one process, and each for 10 s: the oldest makes room, so that whoever says nothing keeps no task out.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/peer/stranger_limits.h"
#include "common/start/exec_words.h"
#include "server-glue/core/one_shot.h"
#include "server-glue/core/task_descriptors.h"

#include <map>
#include <sys/types.h>

namespace pmixhost {

class TaskDoor {
  public:
    using Answer = OneShot<Result<std::vector<std::string>>>; // the environment, NAME=VALUE each
    struct Knock {
        Rank rank;
        pid_t pid; // of the process that asks, which is the one that will execute the program
        gid_t gid;
        std::uint8_t unread;    // which streams the RM does not read: wire::stdout_channel, wire::stderr_channel
        Result<UniqueFd> pidfd; // of that very process; fails (not_found) when it has ended
        Answer answer;
    };
    // Gets what a task said after it had its environment, until it closed or said its last: for spawned processes,
    // whether their program was executed.
    using ExecReport = std::function<void(Rank, ExecWords)>;
    // Takes the standard streams that a task hands over when it has its environment.
    using TakeStreams = std::function<void(Rank, TaskDescriptors)>;
    // Whose program shall stop at its first instruction, and where what a task has armed for that goes
    // (common/process/exec_stop.h). For tasks that execute their program right behind the door.
    struct ExecStops {
        std::function<bool(Rank)> wanted; // empty: nobody's
        std::function<void(Rank, UniqueFd)> take;
    };
    // The task that executes its program right behind the door has done so, or has ended without.
    using Executed = std::function<void(Rank)>;
    // `fd`: a listening AF_UNIX stream socket. Only processes of `uid` are heard. Without `on_exec_report` and
    // `on_executed`, of which there is one at most, the daemon closes first; without `take_streams` tasks keep their
    // streams.
    TaskDoor(EventLoop &loop, Log &log, UniqueFd fd, uid_t uid, std::function<void(Knock)> on_knock,
             ExecReport on_exec_report = nullptr, TakeStreams take_streams = nullptr, ExecStops exec_stops = {},
             Executed on_executed = nullptr);
    // Has a task that was answered yet to say whether its program runs, or to execute it?
    bool awaits_exec_report() const;
    ~TaskDoor();

  private:
    struct Visitor;
    void watch_door();
    void accept();
    bool make_room();
    void drop(std::uint64_t id);
    void read(std::uint64_t id);
    void write(std::uint64_t id);
    void after_reply(std::uint64_t id);
    void await_streams(std::uint64_t id);
    void await_stop(std::uint64_t id);
    void listen_on(std::uint64_t id);
    void await_exec(std::uint64_t id);

    EventLoop &loop_;
    Log &log_;
    UniqueFd fd_;
    uid_t uid_;
    std::function<void(Knock)> on_knock_;
    ExecReport on_exec_report_;
    TakeStreams take_streams_;
    ExecStops exec_stops_;
    Executed on_executed_;
    std::map<std::uint64_t, std::unique_ptr<Visitor>> visitors_;
    std::uint64_t next_ = 1;
    StrangerLimits silent_; // those of visitors_ that have not said what they want, by their pids
    RateLimit refused_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    EventLoop::Handle watch_;
};

} // namespace pmixhost
