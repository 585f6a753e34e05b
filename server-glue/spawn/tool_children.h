// The jobs that tools have spawned: each ends when its tool disconnects, unless it was asked to go on (PMIX_NOHUP;
// standard, "Tools and Debuggers"). What a debugger had stopped would otherwise stand for ever. In the loop's thread.
#pragma once

#include "server-glue/tool_access/step_tools.h"

#include <map>

namespace pmixhost {

class ToolChildren final : public StepService {
  public:
    ToolChildren(StepContext &context, StepTools &tools) : context_(context), tools_(tools) {}

    // Whether `spawner`, which is about to spawn a job, is connected: null where it is a process of a job.
    ToolOrigins::IsHere connection_of(const Process &spawner) const;
    // That job runs. Nothing is done where there is no connection.
    void runs(const Bytes &nspace, ToolOrigins::IsHere spawner);
    void ended(const Bytes &nspace) { children_.erase(nspace); }

    TimePoint next_time() const override { return children_.empty() ? TimePoint::max() : next_look_; }
    void on_time(TimePoint now) override;

  private:
    // libpmix tells nobody that a tool has gone.
    static constexpr Duration look_again = std::chrono::seconds(1);

    StepContext &context_;
    StepTools &tools_;
    std::map<Bytes, ToolOrigins::IsHere> children_; // with whether their spawners are there
    TimePoint next_look_{};
};

} // namespace pmixhost
