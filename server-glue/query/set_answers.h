// Answers about process sets and groups: for the table of keys (query_keys.h). What they return and `out` are as there.
#pragma once

#include "server-glue/library/info_list.h"
#include "server-glue/query/query_ask.h"
#include "server-glue/query/query_port.h"

namespace pmixhost {

// How many there are, their names, and the members of one.
pmix_status_t set_count(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);
pmix_status_t set_list(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);
pmix_status_t set_members(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);
pmix_status_t group_count(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);
pmix_status_t group_list(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);
// The names of those that a process is in, as far as they have a member on this host: of others nothing is known here.
pmix_status_t groups_of_process(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);
pmix_status_t group_members(QueryPort &port, const QueryAsk::Query &query, const char *key, InfoList &out);

} // namespace pmixhost
