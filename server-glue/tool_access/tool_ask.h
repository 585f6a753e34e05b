// A tool has connected (PMIx_tool_init) and waits for the host's word, and for a name where it has none.
#pragma once

#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"

#include <optional>

namespace pmixhost {

struct ToolConnectedAsk {
    std::optional<Process> name; // that it came with, or perhaps (ToolOrigins)
    // Its name from now on. Not a reply with a status: libpmix 4.2.2 crashes of a refusal (who may not come has been
    // turned away by guard/connection_guard.h), so one that is dropped gives a name, too.
    OneShot<Process> answer;
};

} // namespace pmixhost
