// A task calls PMIx_Init or PMIx_Finalize, and waits there for the answer.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

namespace pmixhost {

struct ClientConnectedAsk {
    Process client;
    StatusReply reply;
};
struct ClientFinalizedAsk {
    Process client;
    StatusReply reply;
};

} // namespace pmixhost
