// A process tells that it has stopped for a debugger: PMIX_READY_FOR_DEBUG, in PMIx_Init or at a place of its own. The
// library answers it.
//
// libpmix counts such processes itself and tells its host of all at once (rank PMIX_RANK_LOCAL_PEERS). That count
// never comes to its end when one of them dies, and does not know which of them were asked for. So the daemon listens
// to each.
#pragma once

#include "server-glue/core/signature.h"

#include <pmix_common.h>

#include <functional>

namespace pmixhost {

struct StopAsk {
    static constexpr std::size_t max_breakpoint = 255;
    Process source;
    Bytes breakpoint; // PMIX_BREAKPOINT, cut to max_breakpoint
};

// What libpmix calls the place where PMIx_Init waits.
inline constexpr const char *init_breakpoint = "pmix-init";
// The name of the first instruction of a program.
inline constexpr const char *exec_breakpoint = "exec";

// Called once, when the library has started, in its thread; `done` comes in libpmix' thread.
void listen_to_stops(std::function<void(pmix_status_t)> done);

} // namespace pmixhost
