// How the daemons of a spawned job reach the session of the job that spawned it: the `pmixhost run` that began it all
// listens at an abstract socket, whose name its descendants inherit as PMIXHOST_SESSION_DOOR, and takes their
// invitations. It takes them only from processes of the same user.
//
// One invitation (common/transport/invitation.h) per connection, then the sender closes.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"

#include <list>
#include <memory>
#include <string>

namespace pmixhost {

inline constexpr const char *session_door_variable = "PMIXHOST_SESSION_DOOR";

class SessionDoor {
  public:
    // Listens under a fresh name; `loop` outlives this. `on_invitation` is called in the loop's thread.
    static Result<std::unique_ptr<SessionDoor>> open(EventLoop &loop,
                                                     std::function<void(std::string invitation)> on_invitation);
    // For session_door_variable.
    const std::string &name() const { return name_; }

  private:
    struct Visitor {
        UniqueFd fd;
        std::string bytes;
        EventLoop::Handle watch;
    };
    SessionDoor(EventLoop &loop, UniqueFd fd, std::string name, std::function<void(std::string)> on_invitation);
    void accept();
    void read(std::list<Visitor>::iterator visitor);

    EventLoop &loop_;
    UniqueFd fd_;
    std::string name_;
    std::function<void(std::string)> on_invitation_;
    std::list<Visitor> visitors_; // oldest first
    EventLoop::Handle watch_;
};

// Does not wait. Fails (unreachable, denied) when nobody of this user listens there.
Result<void> send_to_session_door(const std::string &name, const std::string &invitation);

} // namespace pmixhost
