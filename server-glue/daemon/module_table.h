// The pmix_server_module_t of a step's daemon: which capabilities libpmix finds in its host.
#pragma once

#include <pmix_server.h>

namespace pmixhost {

// Its upcalls go to the one Upcalls object (library/upcalls.h). libpmix copies it. Any thread.
pmix_server_module_t *module_table();

} // namespace pmixhost
