// The jobs that tools have spawned: each ends when its tool disconnects, or is left without its server, which is this
// daemon, unless it was asked to go on (PMIX_NOHUP; standard, "Tools and Debuggers"); then nobody in it stands any
// more. What a debugger had stopped would otherwise stand for ever, and so would what it has paused of a job that runs:
// with its daemons it lets go of that. When this daemon leaves nobody looks after its tools any more, so they are taken
// to have gone then. What is still being started is SpawnService's. In the loop's thread.
#pragma once

#include "server-glue/spawn/spawned_jobs.h"
#include "server-glue/tool_access/step_tools.h"

#include <functional>
#include <map>

namespace pmixhost {

class ToolChildren final : public StepService {
  public:
    // What becomes of jobs that a debugger has had stop, or has come to, when it has gone. None is empty.
    struct Debugged {
        // `tool`, whose debugger daemons were beside `debugged`, has gone. Also called while this daemon leaves.
        std::function<void(const Process &tool, const Bytes &debugged)> debugger_gone;
        // Whoever stands in that job is let go, now and at every stop to come. Likewise.
        std::function<void(const Bytes &nspace)> leave_alone;
    };

    // `jobs` tells which run, and when they have ended.
    ToolChildren(StepContext &context, StepTools &tools, SpawnedJobs &jobs, Debugged debugged);

    // Whether `spawner`, which is about to spawn a job, is connected: null where it is a process of a job.
    ToolOrigins::IsHere connection_of(const Process &spawner) const;

    TimePoint next_time() const override;
    void on_time(TimePoint now) override;
    // Debugger daemons whose job ends now hear of that, and have something to say to it; others end.
    void on_leaving(bool badly) override;
    bool wants_event(pmix_status_t code, const Bytes &source) const override;
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;

  private:
    // libpmix tells nobody that a tool has gone.
    static constexpr Duration look_again = std::chrono::seconds(1);

    struct Child {
        Process spawner;
        ToolOrigins::IsHere is_here; // not null
        Bytes debugged;              // of debugger daemons: the job beside which they are
        bool goes_on = false;        // without its tool, which has it stop: then whoever comes to stand is let go
        bool is_alone = false;       // its tool has gone
        bool is_left_alone = false;  // and its hosts have been told
        bool has_ended = false;      // only of debugger daemons: what their debugger has paused may stand still
    };
    void runs(const Bytes &nspace, const SpawnedJob &job);
    void ended(const Bytes &nspace);
    void leave_alone(const Bytes &nspace, Child &child);
    bool hears_of_end(const Child &daemons) const;
    // Also where this has not been told yet: of two jobs of one request the first one's end comes behind the answer.
    bool is_over(const Bytes &nspace, const Child &child) const { return child.has_ended || jobs_.has_ended(nspace); }

    StepContext &context_;
    StepTools &tools_;
    const SpawnedJobs &jobs_;
    const Debugged debugged_;
    std::map<Bytes, Child> children_;
    TimePoint next_look_{};
};

} // namespace pmixhost
