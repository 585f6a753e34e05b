// Debugger daemons in a spawn request: processes that are started beside those of a job that they debug
// ("co-location"), or with it in one request ("co-spawn", a job of their own all the same). Standard, "Tools and
// Debuggers": Debugger Support. Pure.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/core/signature.h"
#include "server-glue/rm/rm_backend.h"

#include <optional>

namespace pmixhost {

// PMIX_DEBUG_TARGET, of the whole request or of a program; nothing where there is none, or its value is no process.
std::optional<Process> debug_target_of(const wire::SpawnRequest &request);

// Shall processes of this request stop for a debugger?
bool has_stops(const wire::SpawnRequest &request);

// The hosts where the target has processes, each with how many: `rank` or, with the wildcard, all.
std::vector<wire::TargetHost> target_hosts(const StepInfo &target, const Process &which);

// Are the programs of this request debugger daemons? After take_daemons() all of them are, or none.
bool are_daemons(const wire::SpawnRequest &request);

// Takes the programs with PMIX_DEBUGGER_DAEMONS out of a request that has others too; nothing where there are no such
// two kinds. What is for the whole request is for both, but for stops, the standard streams, an agent, a time and the
// name of a set; the job that stays then tells its end, since its daemons wait for it.
std::optional<wire::SpawnRequest> take_daemons(wire::SpawnRequest &request);

// The same of those with PMIX_COSPAWN_APP, all together: a job like any other, which only does not belong to the first
// one. Streams are forwarded of the first one alone.
std::optional<wire::SpawnRequest> take_cospawned(wire::SpawnRequest &request);

// Are there two jobs in it, one of which is taken out by one of these?
bool has_two_jobs(const wire::SpawnRequest &request);

// What those daemons debug, unless they say so themselves: the job that was started with them.
void set_debug_target(wire::SpawnRequest &daemons, const Bytes &nspace);

} // namespace pmixhost
