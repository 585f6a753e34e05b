// PMIx_Query_info, as a process of this host asks for it.
#pragma once

#include "server-glue/core/signature.h"
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
        std::string nspace, process_set, group, queue, allocation, host;
        std::vector<Process> processes;                  // PMIX_PROCID, or PMIX_RANK with PMIX_NSPACE
        std::optional<std::uint32_t> node, session, pid; // pid: PMIX_PROC_PID
        std::uint8_t range = PMIX_RANGE_SESSION;
        bool local_only = false, average = false, minmax = false;
        bool asks_qualifiers = false;                         // which ones the key has, not what is asked by the key
        bool host_functions = false, host_attributes = false; // of PMIX_QUERY_ATTRIBUTE_SUPPORT: what is wanted
        std::string functions;                                // of which functions, joined by commas; empty: of all
        std::optional<std::chrono::seconds> timeout;
        std::vector<std::string> required; // those that must be obeyed
        std::string malformed;             // one whose value is of a wrong type; empty: none
    };
    std::vector<Query> queries;
    ListReply reply;
};

} // namespace pmixhost
