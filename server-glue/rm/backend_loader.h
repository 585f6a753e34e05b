// Loads backend_<name>.so. Backends are found in PMIXHOST_LIBDIR only, or beside a pmixhostd that
// has not been installed; never by anything the user's environment says.
#pragma once

#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// The module of the backend that the start document names ([a-z0-9_]+). It stays loaded for the life of the process.
// An error says what to do: the name is missing or wrong, or the module cannot be loaded, has another ABI, or only one
// of two functions that belong together.
Result<const BackendModule *> load_backend(const StartDocument &document);

// Makes the backend, by the module that the start document names. Fails as load_backend() and as the module's
// create() do, and (invalid) when the backend does not have exactly the facets that the module says.
Result<std::unique_ptr<RmBackend>> create_backend(BackendContext context);

// The same for a lobby (StepInfo::is_lobby); fails as load_backend() and as the module's create_lobby() do, and
// (unsupported) where it has none; and (invalid) when the backend has no spawn_places(), or facets that the module does
// not say.
Result<std::unique_ptr<RmBackend>> create_lobby(BackendContext context);

// The first of the backends that are installed which can call a step from outside of it (BackendModule::call_step); it
// need not tell which there are (own_steps).
// Fails (unsupported) where there is none; the text says what is wrong with those that cannot be loaded.
Result<const BackendModule *> backend_that_calls_steps();

// A table, for people, of the backends that are installed (or stand in this build tree), each with its facets: one
// line per backend, also of those that cannot be loaded.
std::string describe_backends();

} // namespace pmixhost
