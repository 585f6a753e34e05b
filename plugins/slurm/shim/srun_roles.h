// The two roles of pmixhostd that srun starts beside itself when its listener wants them
// (plugins/kit/launch_listener.h): the launcher, which starts what the step's processes spawn, and the desk, by which
// tools of this host reach the step; and what each is told (contrib/doc/start-document.md).
#pragma once

#include "common/base/result.h"
#include "plugins/kit/launch_listener.h"
#include "plugins/slurm/shim/srun_context.h"

#include <cstdint>
#include <functional>

namespace pmixhost::slurm {

// As LaunchListener::Parts has them. srun is asked for its options now; what is given may be called in another thread.
// `job`: the leading one of a het job. The launcher fails (unsupported) where the job is another cluster's.
std::function<Result<kit::LauncherProcess>()> launcher_of_srun(const LaunchContext &context, std::uint32_t job);
std::function<Result<kit::LauncherProcess>(int listener)> desk_of_srun(const LaunchContext &context, std::uint32_t job,
                                                                       std::uint32_t step);

} // namespace pmixhost::slurm
