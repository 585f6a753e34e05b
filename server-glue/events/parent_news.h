// What a spawned job's daemons tell who spawned it, where the request asked for it: the ends of its processes
// (PMIX_NOTIFY_PROC_TERMINATION, PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION; standard, "Tracking the job lifecycle"). Each
// host tells of its own processes, several in one event. Of the whole job the launcher tells.
//
// All in the loop's thread.
#pragma once

#include "server-glue/events/step_events.h"

namespace pmixhost {

class ParentNews final : public StepService {
  public:
    ParentNews(StepContext &context, StepEvents &events);

    void on_process_gone(Rank rank, std::optional<int> wait_status) override;
    TimePoint next_time() const override { return due_; }
    void on_time(TimePoint now) override;

  private:
    static constexpr Duration together = std::chrono::milliseconds(50);
    static constexpr std::size_t max_in_event = 1000;

    void tell();
    void tell(const std::vector<Rank> &ranks, const wire::EndedProcess &how);

    StepContext &context_;
    StepEvents &events_;
    const std::uint8_t wanted_; // ParentWord::tells
    std::vector<Rank> in_order_;
    std::vector<wire::EndedProcess> bad_;
    std::size_t gone_ = 0;
    TimePoint due_ = TimePoint::max();
};

} // namespace pmixhost
