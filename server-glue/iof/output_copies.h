// What spawned processes write and what goes to files and on to where it went as well (PMIX_IOF_OUTPUT_TO_FILE without
// PMIX_IOF_FILE_ONLY): a process for each stream copies it. They are the daemon's, and neither the tasks' nor the RM's:
// a disk that hangs stops them alone, and the RM may kill what a step has as soon as its last task has ended.
#pragma once

#include "common/process/output_file.h"
#include "server-glue/step/step_context.h"

#include <map>

namespace pmixhost {

class OutputCopies final : public StepService {
  public:
    // How long the daemon stays for them when its tasks have ended: that long it is nobody's fault if a reader is slow.
    static constexpr Duration patience = std::chrono::seconds(20);

    explicit OutputCopies(StepContext &context) : StepService(context.services), context_(context) {}

    // Fails as posix_spawn(3): then nobody reads what the task writes.
    Result<void> start(Rank rank, OutputCopy copy);
    bool holds_end(TimePoint ended) override { return !running_.empty() && context_.now() < ended + patience; }

  private:
    struct Running {
        UniqueFd process;
        EventLoop::Handle watch;
    };
    StepContext &context_;
    std::map<std::uint64_t, Running> running_;
    std::uint64_t next_ = 0;
};

} // namespace pmixhost
