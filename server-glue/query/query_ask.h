// PMIx_Query_info, as a process of this host asks for it.
#pragma once

#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

struct QueryAsk {
    static constexpr std::size_t max_keys = 1000;
    struct Query {
        std::vector<std::string> keys;
        // Its qualifiers; one that was not said is empty.
        std::string nspace, process_set, group, queue, allocation;
        std::uint8_t range = PMIX_RANGE_SESSION;
        bool local_only = false;
        std::optional<std::chrono::seconds> timeout;
        std::string unsupported; // one that is required and not known
    };
    std::vector<Query> queries;
    ListReply reply;
};

} // namespace pmixhost
