// The backend of a lobby under Slurm (StepInfo::is_lobby): a daemon beside a desk of the gate, on a host that may be
// none of Slurm's hosts. It asks slurmctld as the commands of Slurm's users do, starts its launcher itself, and
// reaches the session of the allocation in which its jobs are, as the daemons of these jobs do.
#pragma once

#include "plugins/slurm/backend/step_caller.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost::slurm {

struct LobbyParts {
    void (*prepare)();                    // calls slurm_init(), once
    StepCaller::Slurm slurm;              // of a job's steps that keep its hosts from being given back, and to slurmd
    std::function<std::string()> program; // pmixhostd's path
};
// BackendModule::create_lobby.
Result<std::unique_ptr<RmBackend>> create_lobby(BackendContext context, LobbyParts parts);

} // namespace pmixhost::slurm
