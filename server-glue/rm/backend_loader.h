// Loads backend_<name>.so. Backends are found in PMIXHOST_LIBDIR only, or beside a pmixhostd that
// has not been installed; never by anything the user's environment says.
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// Its name: [a-z0-9_]+. The module stays loaded for the life of the process.
// The one that the start document names.
Result<const BackendModule *> load_backend(const StartDocument &document);

// Of its module. Fails (invalid) also when it has other facets than the module says.
Result<std::unique_ptr<RmBackend>> create_backend(BackendContext context);

// A table of those that are installed (or stand in this build tree), each with its facets, for people: one line per
// backend, also of those that cannot be loaded.
std::string describe_backends();

} // namespace pmixhost
