// What a process of this host wants to know of another one, when libpmix does not know it.
#pragma once

#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

struct ModexAsk {
    Process target;
    Bytes key;         // PMIX_REQUIRED_KEY; empty: whatever it has posted
    bool anew = false; // PMIX_GET_REFRESH_CACHE: from where the process runs, not what came before
    std::optional<std::chrono::seconds> timeout;
    DataReply reply;
};

} // namespace pmixhost
