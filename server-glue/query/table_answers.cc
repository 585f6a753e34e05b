// See table_answers.h.
#include "server-glue/query/table_answers.h"

#include "server-glue/library/convert.h"

#include <algorithm>
#include <numeric>
#include <pmix_common.h>
#include <set>

namespace pmixhost {

namespace {

using Values = std::vector<double>; // in KiB

float megabytes(double kib) {
    return static_cast<float>(kib / 1024);
}

double average(const Values &values) {
    double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

bool names_single_processes(const QueryAsk::Query &query) {
    return !query.processes.empty() &&
           std::none_of(query.processes.begin(), query.processes.end(),
                        [](const Process &process) { return process.rank == PMIX_RANK_WILDCARD; });
}

void add_extremes(InfoList &out, const char *key, const Values &values, bool with_average, bool with_extremes) {
    if (with_average)
        out.add_float(key, megabytes(average(values)));
    if (with_extremes) {
        auto [least, most] = std::minmax_element(values.begin(), values.end());
        out.add_float(key, values.empty() ? 0 : megabytes(*least));
        out.add_float(key, values.empty() ? 0 : megabytes(*most));
    }
}

void add_host(InfoList &out, const StepInfo &step, HostIndex host, std::uint64_t daemon, const Values &clients) {
    out.add(PMIX_HOSTNAME, step.map.hosts()[host]);
    out.add_float(PMIX_DAEMON_MEMORY, megabytes(static_cast<double>(daemon)));
    out.add_float(PMIX_CLIENT_AVG_MEMORY, megabytes(average(clients)));
}

InfoList describe_memory(const StepInfo &step, const ProcessEntry &process) {
    InfoList info;
    info.add_process(PMIX_PROCID, proc_of(step.nspace, process.rank));
    info.add(PMIX_HOSTNAME, step.map.hosts()[process.host]);
    info.add_float(PMIX_CLIENT_AVG_MEMORY, megabytes(static_cast<double>(process.memory_kib)));
    return info;
}

} // namespace

ProgramNames::ProgramNames(const StepInfo &step) : names_(step.map.rank_count()) {
    for (const auto &app : step.apps) {
        if (app.argv.empty())
            continue;
        if (app.ranks.empty()) { // all that are left
            std::replace(names_.begin(), names_.end(), static_cast<const std::string *>(nullptr), &app.argv.front());
            return;
        }
        for (Rank rank : app.ranks) {
            if (rank < names_.size() && !names_[rank])
                names_[rank] = &app.argv.front();
        }
    }
}

const std::string &ProgramNames::of(Rank rank) const {
    static const std::string not_known;
    return rank < names_.size() && names_[rank] ? *names_[rank] : not_known;
}

std::optional<HostIndex> named_host(const StepInfo &step, const QueryAsk::Query &query) {
    const auto &hosts = step.map.hosts();
    HostIndex host = query.node.value_or(no_host);
    if (query.node && host >= step.map.host_count())
        return std::nullopt;
    if (query.host.empty())
        return host;
    auto found = std::find(hosts.begin(), hosts.end(), query.host);
    if (found == hosts.end() || (query.node && *found != hosts[host]))
        return std::nullopt;
    return static_cast<HostIndex>(found - hosts.begin());
}

pmix_status_t process_table_answer(const StepInfo &step, const QueryAsk::Query &query, const JobTable &table,
                                   const char *key, InfoList &out) {
    HostIndex host = named_host(step, query).value_or(no_host);
    const ProgramNames programs(step);
    std::vector<InfoList::ProcessInfo> infos;
    for (const auto &entry : table.processes) {
        if (host != no_host && entry.host != host)
            continue;
        std::string executable = entry.executable.empty() ? programs.of(entry.rank) : entry.executable;
        infos.push_back({proc_of(step.nspace, entry.rank), step.map.hosts()[entry.host], std::move(executable),
                         entry.pid, entry.exit_code, entry.state});
    }
    out.add_process_infos(key, infos);
    return PMIX_SUCCESS;
}

pmix_status_t memory_answer(const StepInfo &step, const QueryAsk::Query &query, const JobTable &table, const char *key,
                            InfoList &out) {
    HostIndex only = query.local_only ? step.self : named_host(step, query).value_or(no_host);
    bool single = names_single_processes(query);
    std::set<Rank> named;
    for (const Process &process : query.processes)
        named.insert(process.rank);
    std::map<HostIndex, Values> clients;
    Values all, daemons;
    InfoList answer;
    for (const auto &[host, memory] : table.daemons) {
        if (only == no_host || host == only)
            daemons.push_back(static_cast<double>(memory));
    }
    for (const auto &process : table.processes) {
        bool asked = !single || named.contains(process.rank);
        if (!asked || (only != no_host && process.host != only))
            continue;
        if (single && !query.average && !query.minmax)
            answer.add_array(PMIX_PROC_INFO_ARRAY, describe_memory(step, process));
        if (process.memory_kib == 0)
            continue;
        clients[process.host].push_back(static_cast<double>(process.memory_kib));
        all.push_back(static_cast<double>(process.memory_kib));
    }
    if (query.average || query.minmax) {
        if (!single)
            add_extremes(answer, PMIX_DAEMON_MEMORY, daemons, query.average, query.minmax);
        add_extremes(answer, PMIX_CLIENT_AVG_MEMORY, all, query.average, query.minmax);
    } else if (!single && only != no_host) {
        auto memory = table.daemons.find(only);
        if (memory == table.daemons.end())
            return PMIX_ERR_NOT_FOUND; // it has left
        add_host(answer, step, only, memory->second, clients[only]);
    } else if (!single) {
        for (const auto &[host, memory] : table.daemons) {
            InfoList info;
            add_host(info, step, host, memory, clients[host]);
            answer.add_array(PMIX_NODE_INFO_ARRAY, std::move(info));
        }
    }
    if (answer.size() == 0)
        return PMIX_ERR_NOT_FOUND; // a process that is on another host than the one that is named
    out.add_array(key, std::move(answer));
    return PMIX_SUCCESS;
}

} // namespace pmixhost
