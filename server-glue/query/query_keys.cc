// See query_keys.h.
#include "server-glue/query/query_keys.h"

#include "server-glue/library/convert.h"
#include "server-glue/spawn/spawn_directives.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <pmix.h>

namespace pmixhost {

namespace {

using Query = QueryAsk::Query;

// PMIX_RANGE_SESSION and wider: whatever is known here.
bool in_range(std::uint8_t range, bool of_own_job) {
    return of_own_job || (range != PMIX_RANGE_NAMESPACE && range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL);
}

// What is asked is known of the own job only.
pmix_status_t of_own_job(const QueryPort &port, const Query &query) {
    if (query.nspace.empty() || query.nspace == port.step().nspace)
        return PMIX_SUCCESS;
    auto others = port.other_namespaces();
    bool other = std::find(others.begin(), others.end(), query.nspace) != others.end();
    return other ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_NOT_FOUND;
}

void add_joined(InfoList &out, const char *key, const std::vector<std::string> &names) {
    out.add(key, fmt::format("{}", fmt::join(names, ",")));
}

// --- process sets and groups ------------------------------------------------------------------------

std::vector<std::string> set_names(const QueryPort &port, const Query &query) {
    std::vector<std::string> names;
    for (const auto &set : port.process_sets().all()) {
        if (in_range(query.range, set.nspace == port.step().nspace) &&
            (query.nspace.empty() || query.nspace == set.nspace))
            names.push_back(set.set.name);
    }
    return names;
}

pmix_status_t set_count(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    out.add_size(key, set_names(port, query).size());
    return PMIX_SUCCESS;
}

// Groups are an array of strings, sets are not: so say the headers of every version.
pmix_status_t sets(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    add_joined(out, key, set_names(port, query));
    return PMIX_SUCCESS;
}

pmix_status_t set_members(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    if (query.process_set.empty())
        return PMIX_ERR_BAD_PARAM;
    const auto *set = port.process_sets().find(query.process_set);
    if (!set)
        return PMIX_ERR_NOT_FOUND;
    out.add_processes(key, procs_of(set->nspace, set->set.ranks));
    return PMIX_SUCCESS;
}

std::vector<std::string> group_names(const QueryPort &port, const Query &query) {
    std::vector<std::string> names;
    for (const auto &[name, group] : port.groups().all()) {
        if (in_range(query.range, group.members.only_of(port.step().nspace)))
            names.push_back(name);
    }
    return names;
}

pmix_status_t group_count(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    out.add_size(key, group_names(port, query).size());
    return PMIX_SUCCESS;
}

pmix_status_t groups(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    out.add_strings(key, group_names(port, query));
    return PMIX_SUCCESS;
}

pmix_status_t group_members(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    if (query.group.empty())
        return PMIX_ERR_BAD_PARAM;
    const Group *group = port.groups().find(query.group);
    if (!group)
        return PMIX_ERR_NOT_FOUND;
    const StepInfo &step = port.step();
    std::vector<pmix_proc_t> members;
    for (const auto &member : group->members.all()) {
        Rank size = member.nspace == step.nspace ? step.map.rank_count() : 0;
        if (!member.wildcard || size == 0)
            members.push_back(proc_of(member.nspace, member.wildcard ? PMIX_RANK_WILDCARD : member.rank));
        for (Rank rank = 0; member.wildcard && rank < size; ++rank)
            members.push_back(proc_of(member.nspace, rank));
    }
    out.add_processes(key, members);
    return PMIX_SUCCESS;
}

// --- jobs and processes -----------------------------------------------------------------------------

std::vector<Bytes> all_namespaces(const QueryPort &port) {
    auto all = port.other_namespaces();
    all.insert(all.begin(), port.step().nspace);
    return all;
}

pmix_status_t namespaces(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_joined(out, key, all_namespaces(port));
    return PMIX_SUCCESS;
}

InfoList describe_namespace(const StepInfo &step, const Bytes &nspace) {
    InfoList info;
    info.add(PMIX_NSPACE, nspace);
    if (nspace != step.nspace)
        return info;
    std::vector<std::string> programs;
    for (const auto &app : step.apps)
        programs.push_back(fmt::format("{}", fmt::join(app.argv, " ")));
    info.add(PMIX_CMD_LINE, fmt::format("{}", fmt::join(programs, " : ")));
    info.add(PMIX_JOB_SIZE, std::uint32_t{step.map.rank_count()});
    return info;
}

pmix_status_t namespace_info(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    InfoList array;
    for (const auto &nspace : all_namespaces(port)) {
        if (query.nspace.empty() || query.nspace == nspace)
            array.add_array(PMIX_JOB_INFO_ARRAY, describe_namespace(port.step(), nspace));
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

pmix_status_t job_size(QueryPort &port, const Query &, const char *key, InfoList &out) {
    out.add(key, std::uint32_t{port.step().map.rank_count()});
    return PMIX_SUCCESS;
}

pmix_status_t local_processes(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_process_table(out, key, port.step(), port.local_table());
    return PMIX_SUCCESS;
}

// --- the host itself --------------------------------------------------------------------------------

bool spawns(QueryPort &port) {
    return port.spawns();
}

pmix_status_t spawn_support(QueryPort &, const Query &, const char *key, InfoList &out) {
    std::vector<std::string> keys;
    for (const auto &attribute : spawn_attributes()) {
        if (attribute.treatment != SpawnAttribute::Treatment::missing)
            keys.emplace_back(attribute.key);
    }
    add_joined(out, key, keys);
    return PMIX_SUCCESS;
}

pmix_status_t supported(QueryPort &port, const Query &, const char *key, InfoList &out) {
    add_joined(out, key, supported_query_keys(port));
    return PMIX_SUCCESS;
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

using Kind = RmQuestion::Kind;

// The time that is left is not known of others: they may be in another allocation.
const QueryKey table[] = {
    {.key = PMIX_QUERY_NUM_PSETS, .from_here = set_count},
    {.key = PMIX_QUERY_PSET_NAMES, .from_here = sets},
    {.key = PMIX_QUERY_PSET_MEMBERSHIP, .from_here = set_members},
    {.key = PMIX_QUERY_NUM_GROUPS, .from_here = group_count},
    {.key = PMIX_QUERY_GROUP_NAMES, .from_here = groups},
    {.key = PMIX_QUERY_GROUP_MEMBERSHIP, .from_here = group_members},
    {.key = PMIX_QUERY_NAMESPACES, .from_here = namespaces},
    {.key = PMIX_QUERY_NAMESPACE_INFO, .from_here = namespace_info},
    {.key = PMIX_QUERY_JOB_STATUS, .from_here = job_status, .check = of_own_job},
    {.key = PMIX_QUERY_PROC_TABLE, .from_here = local_processes, .check = of_own_job, .whole_job = true},
    {.key = PMIX_QUERY_LOCAL_PROC_TABLE, .from_here = local_processes, .check = of_own_job},
    {.key = PMIX_QUERY_SUPPORTED_KEYS, .from_here = supported},
    {.key = PMIX_JOB_SIZE, .from_here = job_size, .check = of_own_job},
    {.key = PMIX_QUERY_SPAWN_SUPPORT, .from_here = spawn_support, .offered = spawns},
    {.key = PMIX_TIME_REMAINING, .from_rm = time_remaining, .question = Kind::time_remaining, .check = of_own_job},
    {.key = PMIX_QUERY_ALLOC_STATUS,
     .from_rm = allocation_status,
     .question = Kind::allocation_status,
     .check = names_allocation},
    {.key = PMIX_QUERY_QUEUE_LIST, .from_rm = queue_list, .question = Kind::queues},
    {.key = PMIX_QUERY_QUEUE_STATUS, .from_rm = queue_status, .question = Kind::queues},
};

bool is_offered(const QueryKey &key, QueryPort &port) {
    if (key.from_rm) {
        RmQuestions *rm = port.rm_questions();
        return rm && rm->answers(key.question);
    }
    return !key.offered || key.offered(port);
}

} // namespace

bool QueryKey::is_table() const {
    return from_here == local_processes;
}

const QueryKey *find_query_key(std::string_view key, QueryPort &port) {
    auto found =
        std::find_if(std::begin(table), std::end(table), [&](const QueryKey &each) { return key == each.key; });
    return found != std::end(table) && is_offered(*found, port) ? found : nullptr;
}

std::vector<std::string> supported_query_keys(QueryPort &port) {
    std::vector<std::string> keys;
    for (const auto &each : table) {
        if (is_offered(each, port))
            keys.push_back(each.key);
    }
    return keys;
}

void add_process_table(InfoList &out, const char *key, const StepInfo &step, const std::vector<ProcessEntry> &entries) {
    std::vector<InfoList::ProcessInfo> infos;
    for (const auto &entry : entries) {
        std::string executable = entry.executable;
        for (const auto &app : step.apps) {
            bool its = app.ranks.empty() || std::binary_search(app.ranks.begin(), app.ranks.end(), entry.rank);
            if (executable.empty() && its && !app.argv.empty())
                executable = app.argv.front();
        }
        infos.push_back({proc_of(step.nspace, entry.rank), step.map.hosts()[entry.host], std::move(executable),
                         entry.pid, entry.exit_code, entry.state});
    }
    out.add_process_infos(key, infos);
}

} // namespace pmixhost
