// The name of a step on one host, as slurmstepd has it. In a heterogeneous job each component has slurmstepds of its
// own, and names of its own.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

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

} // namespace pmixhost::slurm
