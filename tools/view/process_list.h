// The processes of a job, as its PMIx server tells (PMIX_QUERY_PROC_TABLE).
#pragma once

#include "tools/view/server_list.h"

#include <chrono>

namespace pmixhost {

struct ListedProcess {
    Rank rank = 0;
    std::string host;
    pid_t pid = 0;
    std::string state; // as PMIx_Proc_state_string says
    std::string executable;
};

// Sorted by rank. Blocks and fails as as_tool() does (tool_process.h).
Result<std::vector<ListedProcess>> processes_of(const ListedServer &server, std::chrono::seconds patience);

} // namespace pmixhost
