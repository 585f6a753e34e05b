// PMIX_DEBUGGER_RELEASE: whom one lets go, and one that lets a whole job go.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/core/signature.h"

#include <optional>
#include <pmix_common.h>
#include <vector>

namespace pmixhost {

// Those of its custom range, of whatever namespaces; none: it has none, and is for everybody who hears it. nullopt:
// nobody, since that range is empty or cannot be read.
std::optional<std::vector<Process>> let_go_by(const pmix_info_t info[], std::size_t count);

// For all of another job, from where they stand now. Needs a library that is initialised.
Result<wire::CrossJobEvent> release_of_job(const std::string &nspace, const Process &source);

} // namespace pmixhost
