// A pmixhostd that is no step's server but one of the central roles (central_roles.h).
#pragma once

#include "common/log.h"
#include "common/settings.h"
#include "common/start_document.h"

namespace pmixhost {

// Serves until there is nothing more to do; the exit code. Document keys: contrib/doc/start-document.md.
int serve_role(const StartDocument &document, const Settings &settings, Log &log);

} // namespace pmixhost
