// Who a step is for, learned inside slurmstepd from slurmstepd alone. The environment that the
// hooks are handed is the user's and proves nothing.
#pragma once

#include "common/base/result.h"
#include "plugins/kit/user.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace pmixhost::slurm {

struct StepName {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = 0;
    std::optional<std::uint32_t> het_component;
    bool operator==(const StepName &) const = default;
};

// "12.0", "12.0+1".
inline std::string to_text(const StepName &step) {
    std::string text = fmt::format("{}.{}", step.job_id, step.step_id);
    if (step.het_component)
        text += fmt::format("+{}", *step.het_component);
    return text;
}

// Reads the title that slurmstepd gives its process: "slurmstepd: [12.0]", "[12.0+1]". Empty for steps that have no
// tasks of an MPI job: batch, extern, interactive. Fails (invalid) on anything else.
Result<std::optional<StepName>> parse_step_title(std::string_view title);
// The same of this process (/proc/self/cmdline).
Result<std::optional<StepName>> own_step_name();

// The uid of the step's user. slurmstepd's own socket is asked for it, and the kernel says that its listener is this
// very process. Takes one round trip to another thread of this process.
Result<uid_t> own_step_uid(const StepName &step, const std::string &node);

} // namespace pmixhost::slurm
