// Whom a PMIX_DEBUGGER_RELEASE lets go.
#pragma once

#include "server-glue/core/signature.h"

#include <optional>
#include <pmix_common.h>
#include <vector>

namespace pmixhost {

// Those of its custom range, of whatever namespaces; none: it has none, and is for everybody who hears it. nullopt:
// nobody, since that range is empty or cannot be read.
std::optional<std::vector<Process>> let_go_by(const pmix_info_t info[], std::size_t count);

} // namespace pmixhost
