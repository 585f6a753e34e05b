// Upcall of query. libpmix (4.2.2 to 6.1.0) names the server itself as the one who asks, whoever did, so every
// answer is for the job of this step. What it can answer by itself does not come here.
#include "server-glue/library/upcall_tools.h"
#include "server-glue/query/query_ask.h"

#include <cstring>

namespace pmixhost {

namespace {

using namespace upcall;

// False when it is no text, or a long one. libpmix 5 asks for itself with texts that are null: what was not said.
bool read_text(const pmix_value_t &value, std::string &out) {
    constexpr std::size_t longest = 1024;
    if (value.type != PMIX_STRING)
        return false;
    std::size_t size = value.data.string ? strnlen(value.data.string, longest + 1) : 0;
    out.assign(value.data.string ? value.data.string : "", size);
    return (size > 0 || !value.data.string) && size <= longest;
}

bool is_empty_text(const pmix_value_t &value) {
    return value.type == PMIX_STRING && value.data.string && !*value.data.string;
}

bool read_number(const pmix_value_t &value, std::optional<std::uint32_t> &out) {
    auto number = number_of(value);
    if (!number || *number < 0 || *number > UINT32_MAX)
        return false;
    out = static_cast<std::uint32_t>(*number);
    return true;
}

bool read_qualifier(const pmix_info_t &info, QueryAsk::Query &query, std::optional<Rank> &rank) {
    const pmix_value_t &value = info.value;
    const std::pair<const char *, std::string *> texts[] = {
        {PMIX_NSPACE, &query.nspace}, {PMIX_PSET_NAME, &query.process_set}, {PMIX_GROUP_ID, &query.group},
        {PMIX_HOSTNAME, &query.host}, {PMIX_ALLOC_QUEUE, &query.queue},     {PMIX_ALLOC_ID, &query.allocation}};
    const std::pair<const char *, bool *> flags[] = {{PMIX_QUERY_LOCAL_ONLY, &query.local_only},
                                                     {PMIX_QUERY_REPORT_AVG, &query.average},
                                                     {PMIX_QUERY_REPORT_MINMAX, &query.minmax},
                                                     {PMIX_QUERY_SUPPORTED_QUALIFIERS, &query.asks_qualifiers}};
    if (PMIX_INFO_IS_REQUIRED(&info))
        query.required.push_back(key_of(info));
    for (const auto &[key, text] : texts) {
        // PMIx_Resolve_peers and _nodes of libpmix 5 ask for all namespaces with an empty one, as well as with none.
        if (PMIX_CHECK_KEY(&info, key))
            return (text == &query.nspace && is_empty_text(value)) || read_text(value, *text);
    }
    for (const auto &[key, flag] : flags) {
        if (PMIX_CHECK_KEY(&info, key)) {
            *flag = flag_of(value);
            return true;
        }
    }
    if (PMIX_CHECK_KEY(&info, PMIX_HOST_FUNCTIONS)) {
        query.host_functions = true;
    } else if (PMIX_CHECK_KEY(&info, PMIX_HOST_ATTRIBUTES)) {
        query.host_attributes = true;
        if (!read_text(value, query.functions) || query.functions == "all")
            query.functions.clear(); // the library's own words have no list
    } else if (PMIX_CHECK_KEY(&info, PMIX_PROCID)) {
        if (value.type != PMIX_PROC || !value.data.proc)
            return false;
        // Of a process whose rank is undefined the standard means the namespace alone.
        Process process = process_of(*value.data.proc);
        query.nspace = process.nspace;
        if (process.rank != PMIX_RANK_UNDEF)
            query.processes.push_back(std::move(process));
    } else if (PMIX_CHECK_KEY(&info, PMIX_RANK)) {
        // PRRTE's own tools say an int32_t.
        auto number = value.type == PMIX_PROC_RANK ? std::optional<long long>(value.data.rank) : number_of(value);
        if (!number || *number < INT32_MIN || *number > UINT32_MAX)
            return false;
        rank = static_cast<Rank>(*number);
    } else if (PMIX_CHECK_KEY(&info, PMIX_PROC_PID)) {
        if (value.type != PMIX_PID)
            return read_number(value, query.pid);
        if (value.data.pid > 0)
            query.pid = static_cast<std::uint32_t>(value.data.pid);
        return value.data.pid > 0;
    } else if (PMIX_CHECK_KEY(&info, PMIX_NODEID)) {
        return read_number(value, query.node);
    } else if (PMIX_CHECK_KEY(&info, PMIX_SESSION_ID)) {
        return read_number(value, query.session);
    } else if (PMIX_CHECK_KEY(&info, PMIX_RANGE)) {
        auto range = range_of(value);
        if (!range)
            return false;
        query.range = *range;
    } else if (PMIX_CHECK_KEY(&info, PMIX_TIMEOUT)) {
        query.timeout = seconds_of(value);
    }
    return true;
}

pmix_status_t on_query(pmix_proc_t *, pmix_query_t *queries, std::size_t count, pmix_info_cbfunc_t callback,
                       void *data) {
    return guarded([&](Upcalls &upcalls) -> pmix_status_t {
        QueryAsk ask;
        std::size_t keys = 0;
        for (std::size_t i = 0; queries && i < count; ++i) {
            QueryAsk::Query &query = ask.queries.emplace_back();
            for (char **key = queries[i].keys; key && *key; ++key) {
                query.keys.emplace_back(*key, strnlen(*key, PMIX_MAX_KEYLEN + 1));
                if (++keys > QueryAsk::max_keys)
                    return PMIX_ERR_OUT_OF_RESOURCE;
            }
            std::optional<Rank> rank;
            for (std::size_t q = 0; queries[i].qualifiers && q < queries[i].nqual; ++q) {
                if (!read_qualifier(queries[i].qualifiers[q], query, rank))
                    query.malformed = key_of(queries[i].qualifiers[q]);
            }
            if (rank && *rank != PMIX_RANK_UNDEF)
                query.processes.push_back({query.nspace, *rank});
        }
        if (keys == 0)
            return PMIX_ERR_BAD_PARAM;
        ask.reply = list_reply(callback, data);
        post(upcalls, std::move(ask));
        return PMIX_SUCCESS;
    });
}

} // namespace

namespace upcall {
void add_query_upcall(pmix_server_module_t &module) {
    module.query = on_query;
}
} // namespace upcall

} // namespace pmixhost
