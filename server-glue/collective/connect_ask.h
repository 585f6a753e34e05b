// PMIx_Connect or PMIx_Disconnect, as libpmix hands it on when the processes of this host ask for it.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

struct ConnectAsk {
    CollectiveKind kind = CollectiveKind::connect; // or disconnect
    std::vector<Process> participants;
    pmix_status_t local_status = PMIX_SUCCESS;
    pmix_status_t refused = PMIX_SUCCESS; // as in FenceAsk
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
};

} // namespace pmixhost
