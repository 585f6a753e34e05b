// Which of the jobs and steps that slurmctld names are those that were asked for. The number of a job array is that of
// one of its tasks too, and slurmctld tells of all tasks then, each of which is a job of its own.
#pragma once

#include <cstdint>
#include <slurm/slurm.h>

namespace pmixhost::slurm {

// Is that job another task of the array whose number was asked for? `array`: of which it is a task, or 0.
inline bool is_other_task(std::uint32_t asked, std::uint32_t array, std::uint32_t job) {
    return array != 0 && array == asked && job != asked;
}

// A program of srun (not batch, extern, interactive).
inline bool runs_program(std::uint32_t step) {
    return step <= SLURM_MAX_NORMAL_STEP_ID;
}

// Would releasing its host kill what somebody has started there? salloc may have its shell in a step. The host of a
// batch script is kept by Slurm.
inline bool holds_host(std::uint32_t step) {
    return runs_program(step) || step == SLURM_INTERACTIVE_STEP;
}

} // namespace pmixhost::slurm
