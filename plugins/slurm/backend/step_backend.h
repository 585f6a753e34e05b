// The backend of one step's daemon: what pmixhostd asks of Slurm once a step runs. Calls into libslurm block, and so
// happen in threads of their own (contact messages, questions, ending the step), which are started when first needed:
// a supervisor that only wants to end the step creates a backend and never starts it.
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost::slurm {

// For BackendModule::create, which has the contract.
Result<std::unique_ptr<RmBackend>> create_step_backend(BackendContext context);

} // namespace pmixhost::slurm
