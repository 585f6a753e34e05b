// Values of PMIx on their way between the processes of pmixhost-indirect. Needs a library that is initialised; works
// on the caller's memory alone, in any thread.
#pragma once

#include "server-glue/indirect/side_messages.h"

#include <pmix_common.h>

#include <memory>

namespace pmixhost::indirect {

// Fails (system) with what the library says.
Result<Packed> pack(const void *values, std::size_t count, pmix_data_type_t type);
// Without what is for this process alone: pointers, and the mark of an event that libpmix has passed on.
Result<Packed> pack_info(const pmix_info_t *info, std::size_t count);

// Fail (invalid). Never null where there are none.
template <typename Value> using Unpacked = std::shared_ptr<std::vector<Value>>;
Result<Unpacked<pmix_info_t>> unpack_info(const Packed &packed);
Result<Unpacked<pmix_proc_t>> unpack_processes(const Packed &packed);
Result<Unpacked<pmix_query_t>> unpack_queries(const Packed &packed);
Result<Unpacked<pmix_app_t>> unpack_apps(const Packed &packed);

} // namespace pmixhost::indirect
