// Where a central role gets its invitations (common/transport/invitation.h) from. Either the RM's backend knows a
// way, or whoever started the process holds the other end of a stream socket and writes them to it, each as u32be
// length | bytes; when that end closes, the role ends.
#pragma once

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/start/start_document.h"

#include <functional>
#include <set>

namespace pmixhost {

struct CalledSteps {
    bool known = false;         // the RM told which steps there are
    std::set<Bytes> names;      // namespaces of those that will come
    std::set<Bytes> there = {}; // of all that it told; one that cannot be called is there all the same
};

class InvitationSource {
  public:
    virtual ~InvitationSource() = default;
    // Asks the steps of the allocation that are none of these namespaces to invite this session (session_call). Does
    // not wait; `done` may be null, and may come at once. Where the RM has no way to call them, steps that could want
    // it come by themselves (RmRoles::calls_steps).
    virtual void call_steps(const std::set<Bytes> &, std::function<void(CalledSteps)> done) {
        if (done)
            done({});
    }
};

class InvitationStream final : public InvitationSource {
  public:
    // Reads from the descriptor that the document names as `invitations_fd`.
    static Result<std::unique_ptr<InvitationStream>> open(EventLoop &loop, Log &log, const StartDocument &document,
                                                          std::function<void(std::string)> on_invitation,
                                                          std::function<void()> on_end);

  private:
    InvitationStream(EventLoop &loop, Log &log, UniqueFd fd, std::function<void(std::string)> on_invitation,
                     std::function<void()> on_end);
    void on_readable();

    EventLoop &loop_;
    Log &log_;
    UniqueFd fd_;
    std::function<void(std::string)> on_invitation_;
    std::function<void()> on_end_;
    std::string bytes_;
    EventLoop::Handle watch_;
};

} // namespace pmixhost
