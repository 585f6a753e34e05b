// See set_answers.h.
#include "server-glue/query/set_answers.h"

#include "server-glue/library/convert.h"

#include <fmt/ranges.h>
#include <pmix_common.h>

namespace pmixhost {

using Query = QueryAsk::Query;

// PMIX_RANGE_SESSION and wider: whatever is known here.
static bool in_range(std::uint8_t range, bool of_own_job) {
    return of_own_job || (range != PMIX_RANGE_NAMESPACE && range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL);
}

static std::vector<std::string> set_names(const QueryPort &port, const Query &query) {
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
pmix_status_t set_list(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    out.add(key, fmt::format("{}", fmt::join(set_names(port, query), ",")));
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

static std::vector<std::string> group_names(const QueryPort &port, const Query &query) {
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

pmix_status_t group_list(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    out.add_strings(key, group_names(port, query));
    return PMIX_SUCCESS;
}

pmix_status_t groups_of_process(QueryPort &port, const Query &query, const char *key, InfoList &out) {
    if (query.processes.size() != 1 || query.processes.front().wildcard)
        return PMIX_ERR_BAD_PARAM;
    Process process = query.processes.front();
    if (process.nspace.empty())
        process.nspace = port.step().nspace;
    const StepInfo *job = process.nspace == port.step().nspace ? &port.step() : port.job(process.nspace);
    if (!job || process.rank >= job->map.rank_count())
        return PMIX_ERR_NOT_FOUND;
    std::vector<std::string> names;
    for (const auto &[name, group] : port.groups().all()) {
        if (group.members.contains(process.nspace, process.rank))
            names.push_back(name);
    }
    out.add_strings(key, names);
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

} // namespace pmixhost
