// What is answered from the table of processes (process_table.h): who they are, and how much memory they use. Pure.
//
// PMIX_QUERY_MEMORY_USAGE is an array of info, in Mbytes of 1024 KiB, as floats:
//   of processes that are named (PMIX_PROCID, PMIX_RANK), for each a PMIX_PROC_INFO_ARRAY with PMIX_PROCID,
//     PMIX_HOSTNAME and PMIX_CLIENT_AVG_MEMORY, which is then of this one alone;
//   of one host (PMIX_QUERY_LOCAL_ONLY, PMIX_HOSTNAME, PMIX_NODEID) PMIX_HOSTNAME, PMIX_DAEMON_MEMORY and
//     PMIX_CLIENT_AVG_MEMORY, not in a further array;
//   of all hosts for each of them a PMIX_NODE_INFO_ARRAY with these three.
// With PMIX_QUERY_REPORT_AVG, instead, over all that is asked for: PMIX_DAEMON_MEMORY, where daemons are, and
// PMIX_CLIENT_AVG_MEMORY, the average of all processes that run; with PMIX_QUERY_REPORT_MINMAX the least and then the
// largest value of each; with both the averages first.
#pragma once

#include "server-glue/library/info_list.h"
#include "server-glue/query/process_table.h"
#include "server-glue/query/query_ask.h"
#include "server-glue/rm/rm_backend.h"

#include <optional>
#include <vector>

namespace pmixhost {

// The host that the query names, no_host when it names none; nothing when there is no such host.
std::optional<HostIndex> named_host(const StepInfo &step, const QueryAsk::Query &query);

// What each rank was started with. `step` outlives this.
class ProgramNames {
  public:
    explicit ProgramNames(const StepInfo &step);
    // Empty where the job's programs are not known.
    const std::string &of(Rank rank) const;

  private:
    std::vector<const std::string *> names_; // by rank; null: not known
};

// Each puts the answer under `key` into `out`. `table` may hold hosts that were not asked for, but no other job.
pmix_status_t process_table_answer(const StepInfo &step, const QueryAsk::Query &query, const JobTable &table,
                                   const char *key, InfoList &out);
pmix_status_t memory_answer(const StepInfo &step, const QueryAsk::Query &query, const JobTable &table, const char *key,
                            InfoList &out);

} // namespace pmixhost
