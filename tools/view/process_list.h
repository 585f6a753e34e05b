// The processes of a job, as its PMIx server tells (PMIX_QUERY_PROC_TABLE).
#pragma once

#include "tools/view/server_list.h"
#include "tools/view/stop_asking.h"

#include <chrono>

namespace pmixhost {

struct ListedProcess {
    Rank rank = 0;
    std::string host;
    pid_t pid = 0;     // 0: it does not run, or nobody knows
    std::string state; // as PMIx_Proc_state_string says
    std::string executable;
    bool prepared = false; // it has not begun yet
};

// Of the job of each server, in their order; sorted by rank. Of all the job's hosts, or of the server's own alone.
// Blocks and fails as as_tool_of_each() does (tool_process.h).
std::vector<Result<std::vector<ListedProcess>>> processes_of_each(const std::vector<ListedServer> &servers,
                                                                  std::chrono::seconds patience,
                                                                  bool of_its_host = false,
                                                                  const StopAsking &stop = {});
Result<std::vector<ListedProcess>> processes_of(const ListedServer &server, std::chrono::seconds patience,
                                                bool of_its_host = false);

} // namespace pmixhost
