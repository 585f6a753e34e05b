// The file of `srun --multi-prog`: which ranks run which program, read as Slurm reads it.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <string_view>
#include <vector>

namespace pmixhost::slurm {

// Gives one App for each line that has a task of the step's `tasks`, in the order of the lines. A rank belongs to the
// first line that names it; `*` names all that no earlier line does. `more_arguments` stand on srun's command line
// behind the file and belong to each program. `%t` and `%o`, which are different for each task, stay as they are.
// Fails (invalid) where Slurm would not start the step or a task would have no program.
Result<std::vector<App>> parse_multi_prog(std::string_view text, Rank tasks,
                                          const std::vector<std::string> &more_arguments);

} // namespace pmixhost::slurm
