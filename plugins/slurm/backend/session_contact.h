// The socket by which the server of an allocation's session is invited to the meshes of its steps, and what calls the
// steps that run already (server-glue/rm/invitation_stream.h).
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost::slurm {

// For BackendModule::session_invitations, which has the contract.
Result<std::unique_ptr<InvitationSource>> session_invitations(BackendContext context,
                                                              std::function<void(std::string)> on_invitation);

} // namespace pmixhost::slurm
