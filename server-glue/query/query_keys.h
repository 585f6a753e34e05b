// The keys of PMIx_Query_info, each with who knows the answer and how it is put into words: a table of functions, so
// that a new key is an entry. Pure.
#pragma once

#include "server-glue/library/info_list.h"
#include "server-glue/query/query_ask.h"
#include "server-glue/query/query_port.h"

#include <optional>
#include <string_view>

namespace pmixhost {

struct QueryKey {
    using Query = QueryAsk::Query;
    const char *name; // PMIX_QUERY_NAMESPACES
    const char *key;  // pmix.qry.ns
    // One of these puts the answer under `key` into `out`, or returns why there is none.
    using FromHere = pmix_status_t (*)(QueryPort &port, const Query &query, const char *key, InfoList &out);
    using FromRm = pmix_status_t (*)(const RmAnswer &answer, const Query &query, const char *key, InfoList &out);
    using FromTable = pmix_status_t (*)(const StepInfo &step, const Query &query, const JobTable &table,
                                        const char *key, InfoList &out);
    using FromRights = void (*)(const ToolActions &rights, const char *key, InfoList &out);
    FromHere from_here = nullptr;     // what this daemon knows
    FromRm from_rm = nullptr;         // what the RM says
    FromTable from_table = nullptr;   // what is in the table of processes, which is gathered from all hosts
    FromRights from_rights = nullptr; // what the rules for tools say
    RmQuestion::Kind question{};      // what the RM is asked
    bool of_one_host = false;         // of the table only what this host has, unless another one is named
    bool of_any_job = false;          // the table of another job than this one is asked for there
    bool of_processes = false;        // of the table only the processes that are named, if any are
    bool of_agent = false;            // what the agent with that pid is to start
    // The qualifiers that it obeys, beside those that every key has (common_qualifiers): joined by commas.
    const char *qualifiers = "";
    // Whether a query is right, before the RM or other hosts are asked; null: any is.
    pmix_status_t (*check)(const QueryPort &port, const Query &query) = nullptr;
    bool (*offered)(QueryPort &port) = nullptr; // null: always
    bool listed = true;                         // by PMIX_QUERY_SUPPORTED_KEYS
    bool has_answer = true;                     // false: it is known, and there is nothing to tell anywhere

    // Whether its table is that of another job, which has to be asked.
    bool of_other_job(const QueryPort &port, const Query &query) const;
    // What is wrong with a query about that other job; PMIX_SUCCESS: nothing. `host`: where those processes are of
    // which it asks; no_host: anywhere.
    pmix_status_t check_other_job(const QueryPort &port, const StepInfo &job, const Query &query,
                                  HostIndex &host) const;
    // Is the answer known without the other hosts?
    bool is_local(const QueryPort &port, const Query &query) const;
    // The same for all questions whose answer is the same part of the table, which may be as large as the job, or the
    // same agent's program; empty for others. One such part is told once in a call.
    std::string part_of_table(const Query &query) const;
    // The first qualifier that must be obeyed and is not; empty: there is none.
    std::string disobeyed(const Query &query) const;
    std::string all_qualifiers() const;
};

// Null when nothing is known of that key, or when it has no answer where this backend runs.
const QueryKey *find_query_key(std::string_view key, QueryPort &port);
// Those that can be answered here.
std::vector<std::string> supported_query_keys(QueryPort &port);

} // namespace pmixhost
