// PMIX_DEBUGGER_RELEASE: whom one lets go, and those by which a host does so because nobody else will any more.
//
// Of a job that is left alone for good the event has PMIX_NOHUP: it goes on without its tool, and where its processes
// stop from then on they are let go by their own hosts. Who may let all of a job go now may say so, too.
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

// Does it leave all of that job alone for good?
bool leaves_alone(const pmix_info_t info[], std::size_t count, const std::string &nspace);

// For these processes of one job, from where they stand now; with `for_good` it leaves them alone, where they are all
// of the job. Needs a library that is initialised.
Result<wire::CrossJobEvent> release_of(const std::vector<Process> &processes, const Process &source, bool for_good);

} // namespace pmixhost
