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
    const char *key;
    // Puts the answer under `key` into `out`, or returns why there is none.
    using FromHere = pmix_status_t (*)(QueryPort &port, const Query &query, const char *key, InfoList &out);
    using FromRm = pmix_status_t (*)(const RmAnswer &answer, const Query &query, const char *key, InfoList &out);
    FromHere from_here = nullptr; // what this daemon knows
    FromRm from_rm = nullptr;     // null: the RM is not asked
    RmQuestion::Kind question{};  // what it is asked
    // Whether a query is right, before the RM or other hosts are asked; null: any is.
    pmix_status_t (*check)(const QueryPort &port, const Query &query) = nullptr;
    bool whole_job = false;                     // the table of all processes, of which this daemon knows its own
    bool (*offered)(QueryPort &port) = nullptr; // null: always
    bool is_table() const;
};

// Null when nothing is known of that key, or when it has no answer where this backend runs.
const QueryKey *find_query_key(std::string_view key, QueryPort &port);
// Those that can be answered here.
std::vector<std::string> supported_query_keys(QueryPort &port);
// Adds what is known of each process of `entries`, as an array of pmix_proc_info_t.
void add_process_table(InfoList &out, const char *key, const StepInfo &step, const std::vector<ProcessEntry> &entries);

} // namespace pmixhost
