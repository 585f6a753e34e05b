// The gate's door for users who come to jobs of other users (common/rendezvous/gate_door.h): who has come is what the
// kernel says, and what is wanted is one message, which is awaited for a few seconds. Connections that say nothing are
// bounded, in all and of each user (common/peer/stranger_limits.h). Who asks what was refused is answered here.
//
// All in the loop's thread.
#pragma once

#include "common/base/hurry.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/peer/stranger_limits.h"
#include "common/rendezvous/gate_door.h"

#include <functional>
#include <map>
#include <memory>

namespace pmixhost {

class VisitDoor {
  public:
    struct Visitor {
        StrangerFd connection;
        uid_t asker = 0;
        pid_t pid = 0; // for the log
        Visit wish;    // whose job, and which
    };
    // Listens at a socket in that directory (gate_door_path()), to which everybody may connect, and which goes with
    // this object. One that an earlier gate has left is replaced. Fails as bind(2) does, also (exists) where
    // something else is there.
    // `refusals_of`: what to tell that user, and nobody else.
    static Result<std::unique_ptr<VisitDoor>> open(EventLoop &loop, const std::string &directory,
                                                   std::function<void(Visitor)> on_visitor,
                                                   std::function<Refusals(uid_t)> refusals_of);
    VisitDoor(const VisitDoor &) = delete;
    ~VisitDoor();

  private:
    struct Silent {
        StrangerFd connection;
        uid_t asker;
        pid_t pid;
        EventLoop::Handle watch, timer;
    };
    using Id = StrangerLimits::Id;
    VisitDoor(EventLoop &loop, UniqueFd listener, std::string path, std::function<void(Visitor)> on_visitor,
              std::function<Refusals(uid_t)> refusals_of);
    void watch_listener();
    void accept();
    void hear(Id id);
    void forget(Id id);

    EventLoop &loop_;
    UniqueFd listener_;
    const std::string path_;
    std::function<void(Visitor)> on_visitor_;
    std::function<Refusals(uid_t)> refusals_of_;
    StrangerLimits limits_;
    std::map<Id, Silent> silent_;
    Id next_ = 1;
    EventLoop::Handle watch_;
};

} // namespace pmixhost
