// What a spawned job's daemons tell who spawned it, where the request asked for it: the ends of its processes, as
// events (PMIX_NOTIFY_PROC_TERMINATION, PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION; standard, "Tracking the job
// lifecycle"), for lines to the user (PMIX_LOG_PROC_TERMINATION and its abnormal kind), and who failed first, which
// the end of the job names (spawn/children_ends.h). Each host tells of its own processes, several at once. Of the
// whole job the launcher tells.
//
// Of a job that srun has started for a debugger they tell srun, and it the debugger's side, which makes events and
// lines of it (StepInfo::tells_ends; indirect/job_life.h). Where only bad ends are wanted a host without any says
// nothing. Nobody there is in the session, and the daemon that the
// debugger has for its server leaves with its own last process.
//
// All in the loop's thread.
#pragma once

#include "server-glue/events/step_events.h"

namespace pmixhost {

class ParentNews final : public StepService {
  public:
    ParentNews(StepContext &context, StepEvents &events);

    void take_messages(StepMessages &messages) override;
    void on_process_gone(Rank rank, std::optional<int> wait_status) override;
    // What was said has to leave before this daemon does.
    bool has_unsent() override { return next_id_ > 1 && context_.session_has_queued(); }
    TimePoint next_time() const override { return due_; }
    void on_time(TimePoint now) override;

  private:
    static constexpr Duration together = std::chrono::milliseconds(50);
    static constexpr std::size_t max_in_event = 1000;

    void tell();
    void tell_event(const std::vector<Rank> &ranks, const wire::EndedProcess &how);
    void tell_host(const std::vector<wire::EndedProcess> &bad, const std::vector<Rank> &well);
    void tell_starter(std::vector<wire::EndedProcess> bad, const std::vector<Rank> &well);
    bool all_gone() const;

    StepContext &context_;
    StepEvents &events_;
    const bool to_starter_;     // not to a parent
    const std::uint8_t wanted_; // ParentWord::tells
    std::vector<Rank> normal_exits_;
    std::vector<wire::EndedProcess> bad_;
    std::uint64_t first_bad_ = 0; // of those when the first ended, in microseconds of the epoch
    bool said_first_ = false;     // or to the starter, any
    std::uint64_t next_id_ = 1;
    std::size_t gone_ = 0;
    TimePoint due_ = TimePoint::max();
};

} // namespace pmixhost
