// Contact messages and invitations on their way to the daemons of other hosts, through the RM. Each is tried until it
// arrives or its time is up, because a host refuses until its daemon has made its socket.
//
// The call blocks, for as long as the RM likes where a host does not answer. So there are a few threads, and those
// that are stuck when their message's time is up are left behind (common/loop/slow_calls.h): a message to one host
// does not wait for another host. All else is in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/loop/event_loop.h"
#include "common/loop/slow_calls.h"

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace pmixhost::kit {

class ContactSender {
  public:
    static constexpr SlowCalls::Threads threads{4, 8};
    // Blocks; called in a thread. not_found where nobody listens at that path.
    using Forward =
        std::function<Result<void>(const std::string &node, const std::string &path, const std::string &message)>;
    struct Message {
        std::string node, path, bytes;
        TimePoint deadline;
        bool once = false; // where nobody listens (not_found), there will be nobody
        // Called once if nobody was there to take the message by `missing_after`; a failure is the message's. Null:
        // nothing is called.
        TimePoint missing_after = TimePoint::max();
        std::function<Result<void>()> on_missing = nullptr;
    };
    // At most `max_waiting` messages wait for a thread at once.
    ContactSender(EventLoop &loop, Log &log, std::size_t max_waiting, Forward forward)
        : loop_(loop), log_(log), forward_(std::move(forward)), calls_(loop, max_waiting, threads) {}

    // `done` comes once, never from within, unless this has ended before.
    void send(Message message, std::function<void(Result<void>)> done);

  private:
    struct Sending {
        Message message;
        Duration pause;
        std::function<void(Result<void>)> done;
    };
    void attempt(std::shared_ptr<Sending> sending);
    void attempted(std::shared_ptr<Sending> sending, Result<void> sent);

    EventLoop &loop_;
    Log &log_;
    Forward forward_;
    std::list<EventLoop::Handle> pauses_;
    SlowCalls calls_;
};

} // namespace pmixhost::kit
