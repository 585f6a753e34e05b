// A step's daemon and the session (central_roles.h): how it is reached, and which ends of processes it is told of.
// Every daemon tells of its own host's processes. One daemon, which the session chooses (StepDelegate), also tells of
// those of hosts that need not have a connection; the others keep what they know, should they be chosen.
#pragma once

#include "common/job/rank_ranges.h"
#include "common/wire/event_messages.h"
#include "server-glue/step/step_context.h"

#include <array>

namespace pmixhost {

class SessionLink final : public StepService {
  public:
    explicit SessionLink(StepContext &context);

    // Brings the invitation to the process of that role, and brings it again when the role does not come.
    void reach(CentralRole role, Bytes invitation, TimePoint deadline, std::function<void(Result<void>)> done);
    // Connects with the session, so that it brings what other steps notify.
    void come();
    // A process of this host has ended. That is no reason to have a session; it is told when there is another reason.
    void tell_of(Rank ended);
    // Tells the session of the ends that it must have heard of before anything else.
    void tell_of_ends();

    void take_messages(StepMessages &messages) override;
    void on_library() override;
    void on_bad_ends(const wire::HostReport &report) override;
    void on_normal_exits(const wire::NormalExits &ends) override;
    void on_session_gone() override;

  private:
    TimePoint session_start_time();
    void tell_if_connected();

    StepContext &context_;
    std::array<EventLoop::Handle, central_role_count> reach_again_;
    std::uint64_t sessions_gone_ = 0; // or left
    // Processes that have ended, for the session: of this host, and of others as long as this one does not
    // speak for the step; and what the session has been told.
    RankRanges untold_here_, untold_of_others_, told_;
    bool speaks_ = false;
};

} // namespace pmixhost
