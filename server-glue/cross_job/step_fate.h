// Ends this job when one that it shares its fate with ends badly, and the other way round (shared_fate.h). What is
// known of other jobs comes from their daemons (StepEvents), from the launcher, and with connects.
#pragma once

#include "common/wire/cross_job_messages.h"
#include "common/wire/event_messages.h"
#include "server-glue/cross_job/shared_fate.h"
#include "server-glue/step/step_context.h"

#include <functional>

namespace pmixhost {

class StepFate final : public StepService {
  public:
    // `is_running_child`: is that a job that was spawned on this host, and whose end is not known?
    StepFate(StepContext &context, std::function<bool(const Bytes &nspace)> is_running_child)
        : StepService(context.services), context_(context), is_running_child_(std::move(is_running_child)) {}

    // Another job, as it describes itself: perhaps this one's child or parent.
    void learn_kin(const wire::NamespaceInfo &info);
    SharedFate &fate() { return fate_; }
    // As StepContext::is_end_of_job.
    bool is_end_of_job(const wire::EndedProcess &ended) const;

    TimePoint next_time() const override { return fate_.next_time(); }
    void on_time(TimePoint now) override;
    void on_bad_ends(const wire::HostReport &report) override;
    bool wants_event(pmix_status_t code, const Bytes &nspace) const override;
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;

  private:
    StepContext &context_;
    const std::function<bool(const Bytes &nspace)> is_running_child_;
    SharedFate fate_{context_.step.nspace};
};

} // namespace pmixhost
