// The processes of a job, as its PMIx server tells (PMIX_QUERY_PROC_TABLE). libpmix speaks with a server per process
// and may wait for ever, so each server is asked by a process of its own, which is ended when its time is up.
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

// Blocks for `patience` at most. Sorted by rank. Fails (timeout, or system with what libpmix said).
Result<std::vector<ListedProcess>> processes_of(const ListedServer &server, std::chrono::seconds patience);

} // namespace pmixhost
