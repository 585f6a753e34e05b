// What the hosts of spawned jobs tell the host that spawned them of the ends of their processes (events/parent_news.h):
// who failed first goes into PMIX_EVENT_JOB_END, and who asked for lines (PMIX_LOG_PROC_TERMINATION,
// PMIX_LOG_PROC_ABNORMAL_TERMINATION) gets them where the lines of the job itself go, srun's terminal.
//
// All in the loop's thread.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/events/first_failures.h"
#include "server-glue/spawn/children.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

namespace pmixhost {

class ChildrenEnds final : public StepService {
  public:
    ChildrenEnds(StepContext &context, const Children &children)
        : StepService(context.services), context_(context), children_(children) {}

    // As FirstFailures::take().
    void take_first(const Bytes &nspace, FirstFailures::Then then) {
        first_.take(context_.now(), nspace, std::move(then));
    }

    void forget(const Bytes &nspace) { first_.forget(nspace); }
    // This daemon leaves: whoever waits has waited.
    void finish() { first_.finish(); }

    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return first_.next_time(); }
    void on_time(TimePoint now) override { first_.on_time(now); }

  private:
    void on_ends(const wire::ChildEnds &ends);
    void log(const wire::ChildEnds &ends);
    StepContext &context_;
    const Children &children_;
    unsigned lines_left_ = 10'000; // for the user, of all jobs
    FirstFailures first_;
};

} // namespace pmixhost
