// From what PMIx_Spawn was asked to what is to be started: which directive means what, how many
// processes of which program run on which host, and whether the allocation can hold them. Pure; what
// a resource manager then makes of the plan is its backend's business (job_starter.h).
//
// Placement. Hosts are filled in the order of the list, each up to its slots (CPUs of the allocation,
// or the number that PMIX_HOST or a host file gives), without regard to what runs there already: a
// job of its own may overlap others, but does not itself ask for more than there is, unless the
// mapping policy says `:oversubscribe`. Programs are placed one after the other, and their ranks
// follow each other.
//   PMIX_MAPBY   slot (also core, hwthread; the default), node, ppr:N:node
//                modifiers :oversubscribe, :nooversubscribe, :pe=N
//   PMIX_PPR     N:node
//   PMIX_RANKBY  slot: ranks follow each other on a host; node: from host to host. Default: as mapped
//   PMIX_BINDTO  none, hwthread, core, socket, package, numa; modifiers are ignored
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/rm/spawn_plan.h"
#include "server-glue/spawn/spawn_refusal.h"

#include <variant>

namespace pmixhost {

std::variant<SpawnPlan, SpawnRefusal> plan_spawn(const wire::SpawnRequest &request, const SpawnSite &site);

} // namespace pmixhost
