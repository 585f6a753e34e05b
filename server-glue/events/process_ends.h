// Ends of processes: of this host, as they are told to the step; and of all hosts, as the processes here are told of
// them, whether or not all was in order. In the loop's thread.
#pragma once

#include "common/job/rank_ranges.h"
#include "common/wire/event_messages.h"
#include "server-glue/events/event_service.h"
#include "server-glue/events/library_events.h"
#include "server-glue/step/step_context.h"

#include <set>

namespace pmixhost {

// How a process of this host has ended; nothing when all was in order.
std::optional<wire::EndedProcess> bad_end_of(const StepContext &context, Rank rank, std::optional<int> wait_status);

class ProcessEnds {
  public:
    // Ends in order that come in this time are told together: a job ends within some of these, and each is a message.
    static constexpr Duration normal_exits_together = std::chrono::milliseconds(20);
    // Of this host those in disorder that come in this time, and of all hosts those that come in it behind others.
    static constexpr Duration bad_ends_together = std::chrono::milliseconds(5);

    // `tell_others` tells what lies beyond the step's own hosts of this host's ends in disorder. `tools` are those that
    // may be connected here now.
    ProcessEnds(StepContext &context, EventService &events, LibraryEvents &to_library,
                std::function<void(const wire::HostReport &)> tell_others, std::function<std::vector<Process>()> tools)
        : context_(context), events_(events), to_library_(to_library), tell_others_(std::move(tell_others)),
          tools_(std::move(tools)) {}

    // A process of this host has ended. Told to the step soon, with others.
    void note_end(Rank rank, std::optional<int> wait_status);
    // Ends in order have come from other hosts, to be passed on with this one's.
    void report_normal_exits_soon();
    // Ends in disorder were passed on to other hosts, or wait for it: the next are in a moment.
    void pass_on_bad_ends_later();
    // Reports all at once, as this daemon is about to leave.
    void report_all();

    // Tells the processes of this host of ends.
    void tell(const wire::HostReport &report);
    void tell(const wire::NormalExits &ends);
    void on_library() { tell_of_terminated(); }
    // A process of this host has invited others to a group.
    void note_inviter(Rank rank) { inviters_.insert(rank); }

  private:
    void report_ends();
    void report_normal_exits();
    bool anyone_hears() const;
    void tell_of_terminated();
    void tell_of_terminated(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                            LibraryEvents::Done done);

    StepContext &context_;
    EventService &events_;
    LibraryEvents &to_library_;
    std::function<void(const wire::HostReport &)> tell_others_;
    std::function<std::vector<Process>()> tools_;
    std::vector<wire::EndedProcess> ends_; // not yet reported
    EventLoop::Handle ends_timer_, passing_timer_, normal_exits_timer_;
    // Ends that the processes of this host have not yet been told of; of the second it is not known how they came.
    RankRanges terminated_, terminated_somehow_;
    std::uint64_t terminated_time_ = 0;
    bool telling_of_terminated_ = false;
    std::set<Rank> inviters_; // of this host
};

} // namespace pmixhost
