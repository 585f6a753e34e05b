// PMIx_Spawn, as a process asks for it.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"

#include <pmix_common.h>

namespace pmixhost {

using SpawnAnswer = OneShot<pmix_status_t, std::string>; // with the children's namespace
struct SpawnAsk {
    Process caller;
    wire::SpawnRequest request;
    pmix_status_t refused = PMIX_SUCCESS;
    std::string why{}; // it is refused
    SpawnAnswer reply;
};

} // namespace pmixhost
