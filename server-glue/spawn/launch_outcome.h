// Whether the programs of a step that PMIx_Spawn made run, and why not: told to whoever spawned it, through the RM.
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
