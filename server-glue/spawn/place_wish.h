// In which allocation a spawn request wants its job: one that it names (PMIX_ALLOC_ID, PMIX_SESSION_ID), or a new one
// that it describes as PMIx_Allocation_request does (PMIX_ALLOC_NUM_NODES, _NODE_LIST, _NUM_CPUS, _MEM_SIZE, _QUEUE,
// _TIME, _REQ_ID; decisions/allocation.md). Who describes one and says nothing of processors gets one for each
// process. Pure.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/rm/allocations.h"
#include "server-glue/spawn/spawn_refusal.h"

#include <optional>
#include <variant>

namespace pmixhost {

struct PlaceWish {
    std::string allocation;              // the one that is named; empty: none
    std::optional<RmAllocation> new_one; // never with `allocation`
    bool is_required = false;            // that an allocation is asked for
    bool says_nothing() const { return allocation.empty() && !new_one; }
};

// Takes what says so out of the directives of the whole request. A refusal (PMIX_ERR_BAD_PARAM) where the words make no
// sense.
std::variant<PlaceWish, SpawnRefusal> take_place_wish(wire::SpawnRequest &request);

// Is any of what that takes required (PMIX_INFO_REQD)?
bool requires_place(const wire::SpawnRequest &request);

// PMIX_TIMEOUT or PMIX_SPAWN_TIMEOUT, in seconds; 0: no limit is said.
std::uint64_t start_limit_of(const wire::SpawnRequest &request);
// Where there is one: so much of it has been waited already. At least a second is left.
void take_from_start_limit(wire::SpawnRequest &request, std::chrono::nanoseconds waited);
// PMIX_NOHUP, for any part of it.
bool says_nohup(const wire::SpawnRequest &request);

} // namespace pmixhost
