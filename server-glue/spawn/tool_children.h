// The jobs that tools have spawned: each ends when its tool disconnects, unless it was asked to go on (PMIX_NOHUP;
// standard, "Tools and Debuggers"). What a debugger had stopped would otherwise stand for ever, and so would what it
// has paused of a job that runs: with its daemons it lets go of that. In the loop's thread.
#pragma once

#include "server-glue/tool_access/step_tools.h"

#include <map>

namespace pmixhost {

class ToolChildren final : public StepService {
  public:
    // `tool`, whose debugger daemons were beside `debugged`, has gone.
    using DebuggerGone = std::function<void(const Process &tool, const Bytes &debugged)>;

    ToolChildren(StepContext &context, StepTools &tools, DebuggerGone debugger_gone)
        : StepService(context.services), context_(context), tools_(tools), debugger_gone_(std::move(debugger_gone)) {}

    // Whether `spawner`, which is about to spawn a job, is connected: null where it is a process of a job.
    ToolOrigins::IsHere connection_of(const Process &spawner) const;
    struct Child {
        Process spawner;
        ToolOrigins::IsHere is_here; // not null
        Bytes debugged;              // of debugger daemons: the job beside which they are
        bool has_ended = false;      // only of debugger daemons: what their debugger has paused may stand still
    };
    // That job of a tool runs, or debugger daemons have ended so soon.
    void runs(const Bytes &nspace, Child child);
    void ended(const Bytes &nspace);

    TimePoint next_time() const override { return children_.empty() ? TimePoint::max() : next_look_; }
    void on_time(TimePoint now) override;

  private:
    // libpmix tells nobody that a tool has gone.
    static constexpr Duration look_again = std::chrono::seconds(1);

    StepContext &context_;
    StepTools &tools_;
    const DebuggerGone debugger_gone_;
    std::map<Bytes, Child> children_;
    TimePoint next_look_{};
};

} // namespace pmixhost
