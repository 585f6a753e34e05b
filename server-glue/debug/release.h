// PMIX_DEBUGGER_RELEASE: whom one lets go, and those by which a host does so because nobody else will any more; and the
// end of a pause, which is none: a tool has paused processes, and is gone. They go on, but for those that stand at a
// stop of another debugger's, which hold there until that one lets them go.
//
// Of a job that is left alone for good the event has PMIX_NOHUP: it goes on without its tool, and where its processes
// stop from then on they are let go by their own hosts. Who may let all of a job go now may say so, too.
#pragma once

#include "common/wire/event_messages.h"
#include "server-glue/core/signature.h"

#include <csignal>
#include <optional>
#include <pmix_common.h>
#include <vector>

namespace pmixhost {

// The end of a pause in the place of a signal (wire::SignalRanks): SIGCONT, but for who stands at its first
// instruction.
inline constexpr std::int32_t end_of_pause = -SIGCONT;
// And as an event, which says so to hosts. A release would also let go who waits for one in its library. No program
// listens to this code, which is beyond those of PMIx.
inline constexpr pmix_status_t pause_is_over = PMIX_EXTERNAL_ERR_BASE - 887'001;

// Those of its custom range, of whatever namespaces; none: it has none, and is for everybody who hears it. nullopt:
// nobody, since that range is empty or cannot be read.
std::optional<std::vector<Process>> let_go_by(const pmix_info_t info[], std::size_t count);

// Does it leave all of that job alone for good?
bool leaves_alone(const pmix_info_t info[], std::size_t count, const std::string &nspace);

// For these processes of one job, from where they stand now; with `for_good` it leaves them alone, where they are all
// of the job. Needs a library that is initialised.
Result<wire::CrossJobEvent> release_of(const std::vector<Process> &processes, const Process &source, bool for_good);
// The event pause_is_over for these processes of one job. Likewise.
Result<wire::CrossJobEvent> pause_over_for(const std::vector<Process> &processes, const Process &source);

} // namespace pmixhost
