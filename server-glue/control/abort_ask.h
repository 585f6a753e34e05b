// PMIx_Abort, as a process asks for it.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

namespace pmixhost {

struct AbortAsk {
    Process caller;
    int status = 0;
    std::string message;
    std::vector<Process> targets; // empty: the caller's whole job
    StatusReply reply;
};

} // namespace pmixhost
