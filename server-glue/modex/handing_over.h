// What this host's processes have posted stays when it leaves before the others: it is handed over to the host's heir
// (posted_heirs.h), and what was handed to this host is kept. contrib/doc/decisions/modex.md.
#pragma once

#include "common/wire/event_messages.h"
#include "common/wire/modex_messages.h"
#include "server-glue/modex/posted_heirs.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class HandingOver final : public StepService {
  public:
    // Another host has handed over what that process had posted, or will try the next heir.
    struct Callbacks {
        std::function<void(Rank)> on_kept, on_refused;
    };
    HandingOver(StepContext &context, Callbacks callbacks);

    // Hands over what the other hosts do not have, and then calls `then`, within a few seconds. Only the first call
    // does anything.
    void start(std::function<void()> then);
    // Goes on as if it were done.
    void finish();

    // Is it of use to hear of a fence of the whole job (on_fence_of_all)?
    bool needs_fence(bool collects) const { return collects || !all_have_begun_; }
    // Digests of what the processes here have posted before a fence of the whole job that collects; from its end on
    // every host has it. To be asked for before this host's part of the fence is out, so that nobody has gone on and
    // posted more. Null: not worth its cost, since they were made a moment ago (between_digests).
    std::shared_ptr<const PostedDigests> digest_posted();
    // Such a fence is over, and with it the time when a daemon might not have begun. `collected` is null where no
    // digests were made, or not every host has collected.
    void on_fence_of_all(std::shared_ptr<const PostedDigests> collected);
    // Has the daemon of that host certainly been there?
    bool has_begun(HostIndex host) const { return all_have_begun_ || heirs_.has_left(host); }

    const PostedHeirs &heirs() const { return heirs_; }
    // Has what that process had posted gone on to the next heir, because this host leaves itself?
    bool has_refused(Rank rank) const { return refused_.contains(rank); }
    // What is kept here of that process; null: nothing.
    const std::string *kept(Rank rank) const { return heirs_.kept(rank); }

    void take_messages(StepMessages &messages) override;
    void on_host_gone(HostIndex host, bool left) override;
    void on_normal_exits(const wire::NormalExits &ends) override;

  private:
    // A program that collects again and again pays for one fence of each second. What was posted meanwhile is handed
    // over, although the others have it.
    static constexpr Duration between_digests = std::chrono::seconds(1);
    void ask_heir();
    void refuse(Rank rank);
    void on_posted(HostIndex from, const wire::PostedByEnded &message);
    void on_answer(HostIndex from, bool kept);

    StepContext &context_;
    Callbacks callbacks_;
    PostedHeirs heirs_;
    std::set<Rank> refused_;
    bool all_have_begun_ = false;                     // every daemon of the step
    std::shared_ptr<const PostedDigests> everywhere_; // by a fence that collected; may be null
    std::optional<TimePoint> digested_;               // when that was last asked for
    bool started_ = false;                            // or it is done: nothing of others is kept any more
    SharedBytes last_will_;                           // an encoded PostedByEnded
    HostIndex asked_heir_ = no_host;
    unsigned heirs_asked_ = 0;
    std::function<void()> then_;
    EventLoop::Handle end_;
};

} // namespace pmixhost
