// A message for one daemon of a running step, from a process that need not be in its allocation: a desk
// (server-glue/desk/desk_server.h). Slurm tells which steps a job has, and slurmd brings the message to the daemon's
// contact socket, as the user who sends it.
#pragma once

#include "plugins/slurm/backend/step_caller.h"

#include <optional>

namespace pmixhost::slurm {

struct StepWish {
    std::uint32_t job = 0;
    std::optional<std::uint32_t> step; // nothing: the one that is served
};
// "12", "12.0", "slurm.12.0". Fails (invalid).
Result<StepWish> parse_step_wish(std::string_view text);

// Blocks. `bases`: the directories in which contact sockets may be. Fails as BackendModule::call_step says.
Result<void> call_step(const std::string &step, const std::vector<std::string> &bases, const StepCaller::Slurm &slurm,
                       const std::string &message);

} // namespace pmixhost::slurm
