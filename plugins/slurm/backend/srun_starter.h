// Makes the srun commands of jobs that PMIx_Spawn starts, in the session's allocation or in another one of the user's.
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost::slurm {

// For BackendModule::create_starter, which has the contract. Blocks: slurmctld is asked for the allocation's hosts.
Result<std::unique_ptr<JobStarter>> create_starter(const StartDocument &document, const Settings &settings,
                                                   const std::string &allocation);

} // namespace pmixhost::slurm
