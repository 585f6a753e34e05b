// How the jobs end that were spawned here, and who is told. The launcher tells of a job's end, and when it has gone the
// job's own hosts do (lost_children.h). Of it hear this step, where the request asked for that, debugger daemons beside
// that job, the session, where somebody waits for the job, and what decides whether this job ends with it
// (cross_job/shared_fate.h). The launcher's other news of jobs go the same way.
//
// Hosts of spawned jobs tell this one of the ends of their processes (events/parent_news.h): who failed first goes into
// PMIX_EVENT_JOB_END, and who asked for lines (PMIX_LOG_PROC_TERMINATION, PMIX_LOG_PROC_ABNORMAL_TERMINATION) gets them
// where the lines of the job itself go, srun's terminal.
//
// All in the loop's thread.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/collective/step_collectives.h"
#include "server-glue/cross_job/step_fate.h"
#include "server-glue/events/first_failures.h"
#include "server-glue/events/host_events.h"
#include "server-glue/events/step_events.h"
#include "server-glue/spawn/spawned_jobs.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

namespace pmixhost {

class ChildrenEnds final : public StepService {
  public:
    ChildrenEnds(StepContext &context, SpawnedJobs &jobs, StepFate &fate, StepEvents &events,
                 const StepCollectives &collectives)
        : StepService(context.services), context_(context), jobs_(jobs), fate_(fate), events_(events),
          collectives_(collectives) {}

    // Others than the launcher say that a job has ended which was spawned here; nothing: and nobody knows how.
    void on_lost_child_ended(const Bytes &nspace, std::optional<int> exit_code);

    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return first_.next_time(); }
    void on_time(TimePoint now) override { first_.on_time(now); }
    // Whoever waits has waited.
    void on_leaving(bool /* badly */) override { first_.finish(); }

  private:
    void on_job_event(const wire::JobEvent &job);
    void tell_of(const wire::JobEvent &job, std::optional<FirstFailure> first);
    void tell_debuggers(const wire::JobEvent &job, const std::vector<HostEvent> &events);
    void on_ends(const wire::ChildEnds &ends);
    void log(const wire::ChildEnds &ends);

    StepContext &context_;
    SpawnedJobs &jobs_;
    StepFate &fate_;
    StepEvents &events_;
    const StepCollectives &collectives_;
    unsigned lines_left_ = 10'000; // for the user, of all jobs
    FirstFailures first_;
};

} // namespace pmixhost
