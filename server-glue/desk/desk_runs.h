// What a desk of the gate (gate_desk.h) runs for other users, to whom the site's rules give some actions on jobs of
// this one, but not everything: the pmixhost command itself, as this user, so that no tool of somebody else's speaks
// with libpmix (common/rendezvous/asked_run.h says which commands). Each run has a connection from the gate's door
// (common/rendezvous/gate_door.h). Of who asks, the command gets the write ends of two pipes and nothing else: no
// terminal, no file, no variable. It ends with its connection, and nothing of its process group is left.
//
// Who it is, the kernel says, and the words are looked at once more: the gate is not believed. The job's daemon asks
// the rules for who has asked as well. All in the loop's thread; nothing blocks.
#pragma once

#include "common/base/hurry.h"
#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/base/unique_fd.h"
#include "common/loop/slow_calls.h"
#include "common/rendezvous/gate_door.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

class DeskRuns {
  public:
    // At a time: of all who ask, and of one of them, who must not take all places that others have at a step
    // (StepDesks::most_of_others).
    static constexpr std::size_t most = 16, most_of_one = 2;
    static constexpr std::size_t most_a_minute = 60; // each asks the resource manager, also one that has gone
    // `program`: pmixhost.
    DeskRuns(EventLoop &loop, Log &log, std::string program)
        : loop_(loop), log_(log), program_(std::move(program)), calls_(loop, most, {1, 4}) {}
    DeskRuns(const DeskRuns &) = delete;
    ~DeskRuns(); // what still runs is killed

    // `wish`: what the gate has sent with it, with a run.
    void take(StrangerFd connection, Visit wish);
    std::size_t size() const { return runs_.size(); }

  private:
    using Id = std::uint64_t;
    struct Run {
        StrangerFd connection; // empty: who has asked is gone
        Visit wish;
        AskedBy by;
        pid_t process = -1; // and its group, which it leads
        UniqueFd pidfd;
        EventLoop::Handle watch, ended, timer;
    };
    void hear(Id id);
    // Two pipes, of which a file system may have to be asked: what was sent may be anything.
    struct Pipes {
        UniqueFd out, err;
    };
    static Result<std::unique_ptr<Pipes>> receive_pipes(int connection);
    void take_pipes(Id id);
    void begin(Id id, Result<std::unique_ptr<Pipes>> pipes);
    Result<void> start(Run &run, int out, int err);
    void refuse(Id id, const Error &why);
    void stop(Id id);
    void on_ended(Id id);

    EventLoop &loop_;
    Log &log_;
    const std::string program_;
    std::map<Id, Run> runs_;
    Id next_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    RateLimit begun_{most_a_minute};
    SlowCalls calls_; // for what is sent: a descriptor of a file system that does not answer holds who receives it
};

// The pmixhost that belongs to this pmixhostd: in the build tree, or as it was installed.
std::string pmixhost_path();

} // namespace pmixhost
