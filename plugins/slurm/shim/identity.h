// Who a step is for, learned inside slurmstepd from slurmstepd alone. The environment that the
// hooks are handed is the user's and proves nothing.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "plugins/kit/user.h"
#include "plugins/slurm/base/step_name.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace pmixhost::slurm {

// Reads the title that slurmstepd gives its process: "slurmstepd: [12.0]", "[12.0+1]". Empty for steps that have no
// tasks of an MPI job: batch, extern, interactive. Fails (invalid) on anything else.
Result<std::optional<StepName>> parse_step_title(std::string_view title);
// The same of this process (/proc/self/cmdline).
Result<std::optional<StepName>> own_step_name();

// What slurmstepd's own socket is asked for, of which the kernel says that its listener is this very process.
struct OwnStep {
    uid_t uid = 0;              // of the step's user
    std::uint16_t protocol = 0; // that slurmstepd speaks on it
    std::string socket;         // its path
};
// Takes one round trip to another thread of this process. Only while there is one thread that forks: what Slurm's call
// opens is not close-on-exec, and whoever gets it speaks to slurmstepd as root. Fails (unsupported, unreachable,
// denied).
Result<OwnStep> look_up_own_step(const StepName &step, const std::string &node);
// Another connection to it, on `fd`, an AF_UNIX stream socket that does not block; then it does. Any thread, any
// time; a shutdown of `fd` ends it. Fails (unreachable, denied).
Result<void> connect_to_own_step(const OwnStep &step, const UniqueFd &fd);

} // namespace pmixhost::slurm
