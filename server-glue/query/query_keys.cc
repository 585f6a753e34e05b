// See query_keys.h.
#include "server-glue/query/query_keys.h"

#include "server-glue/library/convert.h"
#include "server-glue/query/host_support.h"
#include "server-glue/query/newer_keys.h"
#include "server-glue/query/set_answers.h"
#include "server-glue/query/table_answers.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <pmix.h>
#include <set>

namespace pmixhost {

namespace {

using Query = QueryAsk::Query;

constexpr const char *common_qualifiers = PMIX_QUERY_REFRESH_CACHE "," PMIX_QUERY_SUPPORTED_QUALIFIERS "," PMIX_TIMEOUT;

bool is_listed(std::string_view list, std::string_view word) {
    for (std::size_t at = 0; at <= list.size();) {
        std::size_t end = std::min(list.find(',', at), list.size());
        if (list.substr(at, end - at) == word)
            return true;
        at = end + 1;
    }
    return false;
}

// --- what is right

pmix_status_t of_known_job(const QueryPort &port, const Query &query) {
    return query.nspace.empty() || port.job(query.nspace) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

// What is asked is known of the own job only.
pmix_status_t of_own_job(const QueryPort &port, const Query &query) {
    if (query.nspace.empty() || query.nspace == port.step().nspace)
        return PMIX_SUCCESS;
    return of_known_job(port, query) == PMIX_SUCCESS ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_NOT_FOUND;
}

pmix_status_t of_own_table(const QueryPort &port, const Query &query) {
    if (pmix_status_t bad = of_own_job(port, query); bad != PMIX_SUCCESS)
        return bad;
    bool there = named_host(port.step(), query).has_value();
    for (const auto &process : query.processes) {
        Query of_it;
        of_it.nspace = process.nspace;
        if (pmix_status_t bad = of_own_job(port, of_it); bad != PMIX_SUCCESS)
            return bad;
        there &= process.rank == PMIX_RANK_WILDCARD || process.rank < port.step().map.rank_count();
    }
    return there ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t of_own_allocation(const QueryPort &port, const Query &query) {
    std::uint32_t own = port.step().session_id;
    bool other = (query.session && *query.session != own) ||
                 (!query.allocation.empty() && query.allocation != std::to_string(own));
    return other ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

void add_joined(InfoList &out, const char *key, const std::vector<std::string> &names) {
    out.add(key, fmt::format("{}", fmt::join(names, ",")));
}

// --- jobs and processes -----------------------------------------------------------------------------

std::vector<Bytes> all_namespaces(const QueryPort &port) {
    auto all = port.other_namespaces();
    if (!port.step().is_lobby)
        all.insert(all.begin(), port.step().nspace);
    return all;
}

pmix_status_t namespaces(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_joined(out, key, all_namespaces(port));
    return PMIX_SUCCESS;
}

// Of jobs that processes here have met no command line is known.
InfoList describe_namespace(const StepInfo &job) {
    InfoList info;
    info.add(PMIX_NSPACE, job.nspace);
    std::vector<std::string> programs;
    for (const auto &app : job.apps) {
        if (!app.argv.empty())
            programs.push_back(fmt::format("{}", fmt::join(app.argv, " ")));
    }
    if (!programs.empty())
        info.add(PMIX_CMD_LINE, fmt::format("{}", fmt::join(programs, " : ")));
    info.add(PMIX_JOBID, job.job_id);
    info.add(PMIX_JOB_SIZE, std::uint32_t{job.map.rank_count()});
    info.add(PMIX_NUM_NODES, std::uint32_t{job.map.host_count()});
    info.add(PMIX_NODE_LIST, fmt::format("{}", fmt::join(job.map.hosts(), ",")));
    return info;
}

pmix_status_t namespace_info(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    InfoList array;
    for (const auto &nspace : all_namespaces(port)) {
        const StepInfo *job = port.job(nspace);
        if (job && (query.nspace.empty() || query.nspace == nspace))
            array.add_array(PMIX_JOB_INFO_ARRAY, describe_namespace(*job));
    }
    if (array.size() == 0)
        return PMIX_ERR_NOT_FOUND;
    out.add_array(key, std::move(array));
    return PMIX_SUCCESS;
}

pmix_status_t job_status(QueryPort &port, const Query &, const char *key, InfoList &out) {
    out.add_status(key, port.first_bad_end());
    return PMIX_SUCCESS;
}

pmix_status_t job_size(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    const StepInfo *job = query.nspace.empty() ? &port.step() : port.job(query.nspace);
    if (!job)
        return PMIX_ERR_NOT_FOUND;
    out.add(key, std::uint32_t{job->map.rank_count()});
    return PMIX_SUCCESS;
}

// What PMIx_Resolve_peers wants: libpmix 5 asks its host for it, with the name of its own host where none was said.
// Of a job that has nobody there the list is empty.
pmix_status_t peers(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    auto named = named_host(port.step(), query);
    if (query.node && !named)
        return PMIX_ERR_NOT_FOUND;
    const auto &own_hosts = port.step().map.hosts();
    const std::string &host = query.host.empty() ? own_hosts[query.node ? *named : port.step().self] : query.host;
    std::vector<pmix_proc_t> found;
    bool known = false;
    for (const auto &nspace : all_namespaces(port)) {
        const StepInfo *job = port.job(nspace);
        if (!job || (!query.nspace.empty() && query.nspace != nspace))
            continue;
        const auto &hosts = job->map.hosts();
        auto there = std::find(hosts.begin(), hosts.end(), host);
        known = true;
        if (there == hosts.end())
            continue;
        auto ranks = job->map.ranks_on(static_cast<HostIndex>(there - hosts.begin()));
        auto more = procs_of(nspace, ranks);
        found.insert(found.end(), more.begin(), more.end());
    }
    if (!known)
        return PMIX_ERR_NOT_FOUND;
    out.add_processes(key, found);
    return PMIX_SUCCESS;
}

// What PMIx_Resolve_nodes wants: each host once.
pmix_status_t nodes(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    std::vector<std::string> found;
    std::set<std::string_view> known; // the names are the jobs'
    for (const auto &nspace : all_namespaces(port)) {
        const StepInfo *job = port.job(nspace);
        if (!job || (!query.nspace.empty() && query.nspace != nspace))
            continue;
        for (const auto &host : job->map.hosts()) {
            if (known.insert(host).second)
                found.push_back(host);
        }
    }
    if (found.empty())
        return PMIX_ERR_NOT_FOUND;
    add_joined(out, key, found);
    return PMIX_SUCCESS;
}

// --- the host itself --------------------------------------------------------------------------------

bool spawns(QueryPort &port) {
    return has(port.abilities().facets, Facet::spawned_step);
}

pmix_status_t spawn_support(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_joined(out, key, spawn_keys(port.abilities()));
    return PMIX_SUCCESS;
}

pmix_status_t debug_support(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_joined(out, key, spawns(port) ? debug_keys(port.abilities()) : std::vector<std::string>());
    return PMIX_SUCCESS;
}

pmix_status_t supported(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_joined(out, key, supported_query_keys(port));
    return PMIX_SUCCESS;
}

std::vector<HostFunction> all_functions(QueryPort &port);

pmix_status_t function_list(QueryPort &port, const Query &, const char *key, InfoList &out) {
    std::vector<std::string> names;
    for (const auto &function : all_functions(port))
        names.push_back(function.name);
    add_joined(out, key, names);
    return PMIX_SUCCESS;
}

// For each function an array of what it obeys.
pmix_status_t attribute_list(QueryPort &port, const Query &, const char *key, InfoList &out) {
    InfoList array;
    for (const auto &function : all_functions(port))
        array.add_attributes(function.name.c_str(), function.attributes);
    out.add_array(key, std::move(array));
    return PMIX_SUCCESS;
}

// libpmix does not say who asks, so an agent says which process it is, and what it is told is kept no longer than it
// needs it (agent_descriptions.h).
pmix_status_t agents_program(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    if (query.pid.value_or(0) == 0)
        return PMIX_ERR_BAD_PARAM;
    auto told = port.described_to(static_cast<pid_t>(*query.pid));
    if (!told)
        return status_of(told.failure());
    out.add_app(key, {told->file, told->argv, told->environment, told->directory});
    return PMIX_SUCCESS;
}

// What the library says of itself when it is asked in this way, the host says of the host.
pmix_status_t attribute_support(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    InfoList array;
    if (query.host_functions)
        function_list(port, query, PMIX_HOST_FUNCTIONS, array);
    for (const auto &function : query.host_attributes ? all_functions(port) : std::vector<HostFunction>()) {
        if (query.functions.empty() || is_listed(query.functions, function.name))
            array.add_attributes(function.name.c_str(), function.attributes);
    }
    if (array.size() == 0)
        return PMIX_ERR_NOT_FOUND;
    out.add_array(key, std::move(array));
    return PMIX_SUCCESS;
}

// Storage is the business of the library's plugins, which come first; a host has none to tell of. The standard's word
// for what nobody has is this, not that the key is unknown.
pmix_status_t no_storage(QueryPort &, const Query &, const char *, InfoList &) {
    return PMIX_ERR_NOT_FOUND;
}

pmix_status_t host_name(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    const StepInfo &step = port.step();
    HostIndex host = step.self;
    if (!query.processes.empty())
        host = step.map.host_of(query.processes.front().rank);
    else if (query.node)
        host = *query.node;
    if (host >= step.map.host_count())
        return PMIX_ERR_NOT_FOUND;
    out.add(key, step.map.hosts()[host]);
    return PMIX_SUCCESS;
}

// The header says PMIX_NODE_INFO, and the host's name first.
pmix_status_t allocation(QueryPort &port, const Query &, const char *key, InfoList &out) {
    const StepInfo &step = port.step();
    std::map<std::string_view, HostIndex> used;
    for (HostIndex host = 0; host < step.map.host_count(); ++host)
        used.emplace(step.map.hosts()[host], host);
    InfoList array;
    for (const auto &name : step.allocated_hosts.empty() ? step.map.hosts() : step.allocated_hosts) {
        InfoList info;
        info.add(PMIX_HOSTNAME, name);
        if (auto found = used.find(name); found != used.end()) {
            info.add(PMIX_NODEID, std::uint32_t{found->second});
            info.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(step.map.ranks_on(found->second).size()));
        }
        array.add_array(PMIX_NODE_INFO, std::move(info));
    }
    out.add_array(key, std::move(array));
    return PMIX_SUCCESS;
}

void rights(const ToolActions &actions, const char *key, InfoList &out) {
    InfoList array;
    for (const auto &[action, allowed] : actions)
        array.add(action.c_str(), allowed);
    out.add_array(key, std::move(array));
}

// --- what the RM knows ------------------------------------------------------------------------------

pmix_status_t names_allocation(const QueryPort &, const Query &query) {
    return query.allocation.empty() ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

pmix_status_t time_remaining(const RmAnswer &answer, const Query &, const char *key, InfoList &out) {
    out.add(key, answer.seconds);
    return PMIX_SUCCESS;
}

pmix_status_t allocation_status(const RmAnswer &answer, const Query &, const char *key, InfoList &out) {
    out.add(key, answer.text);
    return PMIX_SUCCESS;
}

pmix_status_t queue_list(const RmAnswer &answer, const Query &, const char *key, InfoList &out) {
    std::vector<std::string> names;
    for (const auto &[name, state] : answer.queues)
        names.push_back(name);
    add_joined(out, key, names);
    return PMIX_SUCCESS;
}

pmix_status_t queue_status(const RmAnswer &answer, const Query &query, const char *key, InfoList &out) {
    InfoList array;
    for (const auto &[name, state] : answer.queues) {
        if (query.queue.empty() || query.queue == name)
            array.add(name.substr(0, PMIX_MAX_KEYLEN).c_str(), state);
    }
    if (array.size() == 0)
        return PMIX_ERR_NOT_FOUND;
    out.add_array(key, std::move(array));
    return PMIX_SUCCESS;
}

pmix_status_t slots(const RmAnswer &answer, const Query &, const char *key, InfoList &out) {
    out.add(key, answer.slots);
    return PMIX_SUCCESS;
}

using Kind = RmQuestion::Kind;

#define PMIXHOST_KEY(macro) .name = #macro, .key = macro
constexpr const char *process_qualifiers = PMIX_NSPACE "," PMIX_RANK "," PMIX_PROCID;
constexpr const char *table_qualifiers =
    PMIX_NSPACE "," PMIX_PROCID "," PMIX_HOSTNAME "," PMIX_NODEID "," PMIX_QUERY_LOCAL_ONLY;
constexpr const char *memory_qualifiers =
    PMIX_NSPACE "," PMIX_RANK "," PMIX_PROCID "," PMIX_HOSTNAME "," PMIX_NODEID "," PMIX_QUERY_LOCAL_ONLY
                "," PMIX_QUERY_REPORT_AVG "," PMIX_QUERY_REPORT_MINMAX;

// The time that is left is not known of others: they may be in another allocation.
const QueryKey table[] = {
    {PMIXHOST_KEY(PMIX_QUERY_NUM_PSETS), .from_here = set_count, .qualifiers = PMIX_NSPACE "," PMIX_RANGE},
    {PMIXHOST_KEY(PMIX_QUERY_PSET_NAMES), .from_here = set_list, .qualifiers = PMIX_NSPACE "," PMIX_RANGE},
    {PMIXHOST_KEY(PMIX_QUERY_PSET_MEMBERSHIP), .from_here = set_members, .qualifiers = PMIX_PSET_NAME},
    {PMIXHOST_KEY(PMIX_QUERY_NUM_GROUPS), .from_here = group_count, .qualifiers = PMIX_RANGE},
    {PMIXHOST_KEY(PMIX_QUERY_GROUP_NAMES), .from_here = group_list, .qualifiers = PMIX_RANGE},
    {PMIXHOST_KEY(PMIX_GROUP_NAMES), .from_here = groups_of_process, .qualifiers = process_qualifiers},
    {PMIXHOST_KEY(PMIX_QUERY_GROUP_MEMBERSHIP), .from_here = group_members, .qualifiers = PMIX_GROUP_ID},
    {PMIXHOST_KEY(PMIX_QUERY_NAMESPACES), .from_here = namespaces},
    {PMIXHOST_KEY(PMIX_QUERY_NAMESPACE_INFO), .from_here = namespace_info, .qualifiers = PMIX_NSPACE},
    {PMIXHOST_KEY(PMIX_QUERY_JOB_STATUS), .from_here = job_status, .qualifiers = PMIX_NSPACE, .check = of_own_job},
    {PMIXHOST_KEY(PMIX_JOB_SIZE), .from_here = job_size, .qualifiers = PMIX_NSPACE, .check = of_known_job},
    {PMIXHOST_KEY(PMIX_QUERY_PROC_TABLE), .from_table = process_table_answer, .of_any_job = true,
     .qualifiers = table_qualifiers, .check = of_own_table},
    {PMIXHOST_KEY(PMIX_QUERY_LOCAL_PROC_TABLE), .from_table = process_table_answer, .of_one_host = true,
     .of_any_job = true, .qualifiers = table_qualifiers, .check = of_own_table},
    {PMIXHOST_KEY(PMIX_QUERY_MEMORY_USAGE), .from_table = memory_answer, .of_any_job = true, .of_processes = true,
     .qualifiers = memory_qualifiers, .check = of_own_table},
    {PMIXHOST_KEY(PMIX_QUERY_RESOLVE_PEERS), .from_here = peers,
     .qualifiers = PMIX_NSPACE "," PMIX_HOSTNAME "," PMIX_NODEID},
    {PMIXHOST_KEY(PMIX_QUERY_RESOLVE_NODE), .from_here = nodes, .qualifiers = PMIX_NSPACE},
    {PMIXHOST_KEY(PMIX_HOSTNAME), .from_here = host_name, .qualifiers = process_qualifiers, .check = of_own_table},
    {PMIXHOST_KEY(PMIX_QUERY_SUPPORTED_KEYS), .from_here = supported},
    {PMIXHOST_KEY(PMIX_QUERY_ATTRIBUTE_SUPPORT), .from_here = attribute_support,
     .qualifiers = PMIX_HOST_FUNCTIONS "," PMIX_HOST_ATTRIBUTES,
     .listed = false}, // clients of 4.2.2 that ask without one of these crash
    {PMIXHOST_KEY(PMIX_HOST_ATTRIBUTES), .from_here = attribute_list},
    {PMIXHOST_KEY(PMIX_HOST_FUNCTIONS), .from_here = function_list},
    {PMIXHOST_KEY(PMIX_QUERY_STORAGE_LIST), .from_here = no_storage, .has_answer = false},
    {PMIXHOST_KEY(PMIX_QUERY_SPAWN_SUPPORT), .from_here = spawn_support, .offered = spawns},
    {PMIXHOST_KEY(PMIX_FORKEXEC_AGENT), .from_here = agents_program, .of_agent = true, .qualifiers = PMIX_PROC_PID,
     .offered = spawns},
    {PMIXHOST_KEY(PMIX_QUERY_DEBUG_SUPPORT), .from_here = debug_support},
    {PMIXHOST_KEY(PMIX_QUERY_AUTHORIZATIONS), .from_rights = rights},
    {PMIXHOST_KEY(PMIX_QUERY_ALLOCATION), .from_here = allocation, .qualifiers = PMIX_ALLOC_ID "," PMIX_SESSION_ID,
     .check = of_own_allocation},
    {PMIXHOST_KEY(PMIX_QUERY_AVAILABLE_SLOTS), .from_rm = slots, .question = Kind::available_slots,
     .qualifiers = PMIX_SESSION_ID, .check = of_own_allocation},
    {PMIXHOST_KEY(PMIX_TIME_REMAINING), .from_rm = time_remaining, .question = Kind::time_remaining,
     .qualifiers = PMIX_NSPACE, .check = of_own_job},
    {PMIXHOST_KEY(PMIX_QUERY_ALLOC_STATUS), .from_rm = allocation_status, .question = Kind::allocation_status,
     .qualifiers = PMIX_ALLOC_ID, .check = names_allocation},
    {PMIXHOST_KEY(PMIX_QUERY_QUEUE_LIST), .from_rm = queue_list, .question = Kind::queues},
    {PMIXHOST_KEY(PMIX_QUERY_QUEUE_STATUS), .from_rm = queue_status, .question = Kind::queues,
     .qualifiers = PMIX_ALLOC_QUEUE},
};
#undef PMIXHOST_KEY

bool is_offered(const QueryKey &key, QueryPort &port) {
    if (key.from_rm) {
        RmQuestions *rm = port.rm_questions();
        return rm && rm->answers(key.question);
    }
    return !key.offered || key.offered(port);
}

std::vector<HostFunction> all_functions(QueryPort &port) {
    auto functions = host_functions(port.abilities());
    HostFunction &query = functions.emplace_back();
    query.name = "PMIx_Query_info";
    for (const auto &each : table) {
        if (each.has_answer && is_offered(each, port))
            query.attributes.push_back({each.name, each.key, PMIX_UNDEF});
    }
    return functions;
}

} // namespace

bool QueryKey::is_local(const QueryPort &port, const Query &query) const {
    HostIndex host = named_host(port.step(), query).value_or(no_host);
    return query.local_only || host == port.step().self || (of_one_host && host == no_host);
}

bool QueryKey::of_other_job(const QueryPort &port, const Query &query) const {
    return of_any_job && !query.nspace.empty() && query.nspace != port.step().nspace;
}

pmix_status_t QueryKey::check_other_job(const QueryPort &port, const StepInfo &job, const Query &query,
                                        HostIndex &host) const {
    for (const auto &process : query.processes) {
        if (process.nspace != job.nspace ||
            (process.rank != PMIX_RANK_WILDCARD && process.rank >= job.map.rank_count()))
            return PMIX_ERR_NOT_FOUND;
    }
    Query where = query;
    bool here = query.local_only || (of_one_host && query.host.empty() && !query.node);
    if (here)
        where.host = port.step().map.hosts()[port.step().self];
    auto named = named_host(job, where);
    host = named.value_or(no_host);
    return named ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

std::string QueryKey::part_of_table(const Query &query) const {
    bool single = of_processes && !query.processes.empty() &&
                  std::none_of(query.processes.begin(), query.processes.end(),
                               [](const Process &process) { return process.rank == PMIX_RANK_WILDCARD; });
    if (of_agent)
        return fmt::format("{} {}", key, query.pid.value_or(0));
    if (!from_table || single)
        return {};
    return fmt::format("{} {} {} {} {}", key, query.nspace, query.host, query.node.value_or(no_host),
                       of_processes ? query.average + 2 * query.minmax + 4 * query.local_only : 0);
}

std::string QueryKey::disobeyed(const Query &query) const {
    for (const auto &each : query.required) {
        if (!is_listed(qualifiers, each) && !is_listed(common_qualifiers, each))
            return each;
    }
    return {};
}

std::string QueryKey::all_qualifiers() const {
    return fmt::format("{}{}{}", qualifiers, *qualifiers ? "," : "", common_qualifiers);
}

const QueryKey *find_query_key(std::string_view key, QueryPort &port) {
    auto found =
        std::find_if(std::begin(table), std::end(table), [&](const QueryKey &each) { return key == each.key; });
    return found != std::end(table) && is_offered(*found, port) ? found : nullptr;
}

std::vector<std::string> supported_query_keys(QueryPort &port) {
    std::vector<std::string> keys;
    for (const auto &each : table) {
        if (each.has_answer && each.listed && is_offered(each, port))
            keys.push_back(each.key);
    }
    return keys;
}

} // namespace pmixhost
