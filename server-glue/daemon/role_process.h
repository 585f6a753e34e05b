// A pmixhostd that is no step's server but one of the central roles (central_roles.h).
#pragma once

#include "common/base/log.h"
#include "common/config/settings.h"
#include "common/start/start_document.h"

namespace pmixhost {

// Serves until there is nothing more to do, and returns the exit code. Document keys: contrib/doc/start-document.md.
int serve_role(const StartDocument &document, const Settings &settings, Log &log);

// `how` is SIG_BLOCK or SIG_UNBLOCK, for the signals by which a role ends in order. They are blocked from the start
// of the process, before it is known what it is, and wait until the role hears them (serve_role() unblocks them): a
// role that is told to end while it starts still removes what it has made.
void let_end_signals(int how);

} // namespace pmixhost
