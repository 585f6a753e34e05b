// A fence, with what the processes of this host bring to it, as libpmix hands it on.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

// How much one host may bring to a collective with data; what is larger is refused before it is copied. The upcalls
// have it from UpcallHandlers::shared(); set before the library starts.
struct CollectiveLimits {
    std::uint64_t bytes = 0;
};
struct FenceAsk {
    std::vector<Process> participants;
    Bytes data;
    pmix_status_t local_status = PMIX_SUCCESS; // PMIX_LOCAL_COLLECTIVE_STATUS
    // Why this host cannot take part (an unknown required directive, too much data). Not refused at
    // once: the other hosts must hear of it, and libpmix does not answer all of a refused fence's
    // participants.
    pmix_status_t refused = PMIX_SUCCESS;
    std::optional<std::chrono::seconds> timeout;
    bool collects = false; // PMIX_COLLECT_DATA: it brings everywhere what the participants have posted
    DataReply reply;
};

} // namespace pmixhost
