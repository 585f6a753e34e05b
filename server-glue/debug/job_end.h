// The end of a job, for debugger daemons that are jobs of their own (debugged_job.h): this daemon tells them when all
// processes of its job have ended, as far as it has heard; and it hears that of the job that its own processes debug.
#pragma once

#include "common/job/rank_ranges.h"
#include "server-glue/debug/debugged_job.h"
#include "server-glue/events/step_events.h"

namespace pmixhost {

class JobEnd final : public StepService, private DebuggedJobPort {
  public:
    JobEnd(StepContext &context, StepEvents &events);

    void take_messages(StepMessages &messages) override;
    void on_library() override { debugged_.begin(context_.now()); }
    void on_process_gone(Rank rank, std::optional<int> wait_status) override;
    void on_bad_ends(const wire::HostReport &report) override;
    void on_normal_exits(const wire::NormalExits &ends) override;
    void on_session_gone() override;
    bool wants_event(pmix_status_t code, const Bytes &source) const override;
    void on_event(pmix_status_t, const Process &source, const InfoList &) override;
    TimePoint next_time() const override { return debugged_.next_time(); }
    void on_time(TimePoint now) override { debugged_.on_time(now); }

  private:
    static constexpr std::size_t max_waiting = 100'000; // as many as hosts may ask
    // DebuggedJobPort
    void has_ended(std::optional<int> exit_code) override;
    void end_daemons() override;

    void note(Rank first, Rank last, std::int32_t exit_code = 0);
    void tell_if_over();
    void tell(std::int32_t status);

    StepContext &context_;
    StepEvents &events_;
    DebuggedJob debugged_;
    RankRanges ended_;
    std::int32_t exit_code_ = 0;         // of the first that ended badly; -1: it is not known
    std::vector<std::uint64_t> waiting_; // the session's questions
};

} // namespace pmixhost
