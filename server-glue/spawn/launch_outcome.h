// Whether the programs of a step run, and why not: told through the RM to whoever made it by PMIx_Spawn, or had srun
// make it (StepInfo::tells_launch).
// All in the loop's thread.
#pragma once

#include "server-glue/step/step_context.h"

namespace pmixhost {

class LaunchOutcome {
  public:
    explicit LaunchOutcome(StepContext &context) : context_(context) {}

    void first_runs();
    void launched();
    // The task waits until its connection is dropped.
    void failed(const TaskStartFailure &failure, UniqueFd task);

  private:
    StepContext &context_;
    std::vector<UniqueFd> unstarted_; // tasks that could not execute their program, and wait
};

} // namespace pmixhost
