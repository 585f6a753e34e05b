// The word of PMIX_BINDTO for what srun was asked to bind tasks to. Which CPUs a task has in the end its host tells
// (PMIX_CPUSET); this is the policy behind them, which only srun knows. Pure.
#pragma once

#include <string>
#include <string_view>

namespace pmixhost::slurm {

// `task_plugins`: TaskPlugin of slurm.conf; only task/affinity binds. `cpu_bind`: --cpu-bind as srun says it
// ("verbose,cores"), empty where it was not given. The word is none, hwthread, core, package or numa; empty where the
// policy is Slurm's own choice or names CPUs one by one, for which PMIx has no word.
std::string binding_policy(std::string_view task_plugins, std::string_view cpu_bind);

} // namespace pmixhost::slurm
