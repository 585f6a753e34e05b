// Loads backend_<name>.so. Backends are found in PMIXHOST_LIBDIR only, or beside a pmixhostd that
// has not been installed; never by anything the user's environment says.
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// `name`: [a-z0-9_]+. The module stays loaded for the life of the process.
// The one that the start document names.
Result<const BackendModule *> load_backend(const StartDocument &document);

} // namespace pmixhost
