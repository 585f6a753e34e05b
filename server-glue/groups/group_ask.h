// PMIx_Group_construct or _destruct, as libpmix hands it on when the processes of this host ask for it.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

struct GroupAnswer {
    std::optional<std::uint64_t> context_id;
    Bytes endpoints;              // PMIX_GROUP_ENDPT_DATA of all hosts, or as member_data.h has it
    std::vector<Process> members; // of what has been constructed: without those that are gone
};
using GroupReply = OneShot<pmix_status_t, GroupAnswer>;
struct GroupAsk {
    CollectiveKind kind = CollectiveKind::group_construct; // or group_destruct
    Bytes name;
    std::vector<Process> members; // in group-rank order
    bool wants_context = false;
    bool tolerant = false;       // goes on without members that end
    bool tells_of_ends = false;  // PMIX_GROUP_NOTIFY_TERMINATION
    bool must_bear_ends = false; // one of these was required
    Bytes endpoints;             // of this host
    pmix_status_t local_status = PMIX_SUCCESS;
    pmix_status_t refused = PMIX_SUCCESS; // as in FenceAsk
    std::optional<std::chrono::seconds> timeout;
    GroupReply reply;
};

} // namespace pmixhost
