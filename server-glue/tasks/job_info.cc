// See job_info.h.
#include "server-glue/tasks/job_info.h"

#include "common/process/topology.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pmix_library.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <pmix.h>
#include <set>

namespace pmixhost {

namespace {

struct Place { // of a rank among the apps
    std::uint32_t app = 0;
    Rank app_rank = 0;
    Rank app_leader = 0;
};

std::vector<Place> places_of(const StepInfo &step) {
    std::vector<Place> places(step.map.rank_count());
    for (Rank r = 0; r < places.size(); ++r)
        places[r].app_rank = r;
    if (step.apps.size() < 2)
        return places;
    for (std::uint32_t a = 0; a < step.apps.size(); ++a) {
        const auto &ranks = step.apps[a].ranks;
        for (Rank i = 0; i < ranks.size(); ++i) {
            if (ranks[i] < places.size())
                places[ranks[i]] = {a, i, ranks.front()};
        }
    }
    return places;
}

Rank app_size(const StepInfo &step, std::size_t app) {
    const auto &ranks = step.apps[app].ranks;
    return ranks.empty() ? step.map.rank_count() : static_cast<Rank>(ranks.size());
}

// libpmix looks both up where the asker says: with a rank, or with the wildcard.
void add_parent(InfoList &info, const StepInfo &step) {
    if (!step.parent)
        return;
    info.add(PMIX_SPAWNED, true);
    info.add_process(PMIX_PARENT_ID, proc_of(step.parent->nspace, step.parent->rank));
}

// libpmix 4.2 and 5.0 hold every process of a host that knows of a stop in PMIx_Init, whomever it names; the daemon
// releases those who are not meant (server-glue/debug/).
void add_stops(InfoList &info, const StepInfo &step, const DebugStops &stops) {
    const RankRanges &app = stops.at(StopPlace::app);
    auto ranks = step.map.ranks_on(step.self);
    if (std::any_of(ranks.begin(), ranks.end(), [&](Rank r) { return stops.at(StopPlace::init).contains(r); }))
        info.add_rank(PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
    if (app.empty())
        return;
    std::vector<Rank> named;
    for (auto [first, last] : app.ranges()) {
        for (Rank rank = first; rank <= last && rank < step.map.rank_count(); ++rank)
            named.push_back(rank);
    }
    if (named.size() == step.map.rank_count())
        info.add_rank(PMIX_DEBUG_STOP_IN_APP, PMIX_RANK_WILDCARD);
    else if (named.size() == 1)
        info.add_rank(PMIX_DEBUG_STOP_IN_APP, named.front());
    else
        info.add_processes(PMIX_DEBUG_STOP_IN_APP, procs_of(step.nspace, named));
}

// Describes one process. `task` is null for a process of another host.
InfoList process_info(const StepInfo &step, Rank rank, const Place &place, const LocalTask *task,
                      const std::vector<std::string> &sets) {
    InfoList info;
    HostIndex host = step.map.host_of(rank);
    info.add_rank(PMIX_RANK, rank); // libpmix wants it first
    info.add(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(step.map.local_rank(rank)));
    info.add(PMIX_NODE_RANK, static_cast<std::uint16_t>(step.map.local_rank(rank)));
    info.add(PMIX_NODEID, host);
    info.add(PMIX_APPNUM, place.app);
    info.add_rank(PMIX_APP_RANK, place.app_rank);
    info.add_rank(PMIX_APPLDR, place.app_leader);
    info.add_rank(PMIX_GLOBAL_RANK, rank);
    info.add_process(PMIX_PROCID, proc_of(step.nspace, rank));
    if (task || step.self == no_host)
        info.add(PMIX_HOSTNAME, step.map.hosts()[host]);
    if (!sets.empty()) {
        info.add_strings(PMIX_PSET_NAMES, sets);
        info.add(PMIX_PSET_NAME, sets.front());
    }
    if (!task)
        return info;
    add_parent(info, step);
    info.add(PMIX_REINCARNATION, std::uint32_t{0});
    if (!task->cpuset.empty())
        info.add(PMIX_CPUSET, task->cpuset);
    if (!task->locality.empty())
        info.add(PMIX_LOCALITY_STRING, task->locality);
    if (!task->directory.empty())
        info.add(PMIX_PROCDIR, task->directory);
    return info;
}

// The first set that holds all processes of the program; null if there is none.
const ProcessSet *set_of_all(const StepInfo &step, const App &app) {
    auto holds = [&](const ProcessSet &set) {
        if (app.ranks.empty())
            return set.ranks.size() == step.map.rank_count();
        std::set<Rank> members(set.ranks.begin(), set.ranks.end());
        return std::all_of(app.ranks.begin(), app.ranks.end(), [&](Rank rank) { return members.contains(rank); });
    };
    auto found = std::find_if(step.process_sets.begin(), step.process_sets.end(), holds);
    return found == step.process_sets.end() ? nullptr : &*found;
}

InfoList app_info(const StepInfo &step, std::uint32_t number) {
    const App &app = step.apps[number];
    InfoList info;
    info.add(PMIX_APPNUM, number);
    info.add(PMIX_APP_SIZE, std::uint32_t{app_size(step, number)});
    info.add_rank(PMIX_APPLDR, app.ranks.empty() ? 0 : app.ranks.front());
    // libpmix 5 looks a process' set up nowhere else.
    if (const ProcessSet *set = set_of_all(step, app))
        info.add(PMIX_PSET_NAME, set->name);
    if (!app.argv.empty())
        info.add(PMIX_APP_ARGV, fmt::format("{}", fmt::join(app.argv, " ")));
    return info;
}

// A client that asks for the node id of a process of another host is led by libpmix to that host's
// node information, so every host is described.
InfoList node_info(const StepInfo &step, HostIndex host) {
    auto ranks = step.map.ranks_on(host);
    InfoList info;
    info.add(PMIX_NODEID, host);
    info.add(PMIX_HOSTNAME, step.map.hosts()[host]);
    info.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(ranks.size()));
    info.add(PMIX_NODE_SIZE, static_cast<std::uint32_t>(ranks.size()));
    if (host == step.self)
        info.add(PMIX_AVAIL_PHYS_MEMORY, physical_memory());
    return info;
}

void add_this_host(InfoList &info, const StepInfo &step, const std::vector<LocalTask> &tasks) {
    auto ranks = step.map.ranks_on(step.self);
    std::vector<std::string> cpusets;
    for (const auto &task : tasks)
        cpusets.push_back(task.cpuset);
    info.add(PMIX_NODEID, step.self);
    info.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(ranks.size()));
    info.add(PMIX_NODE_SIZE, static_cast<std::uint32_t>(ranks.size()));
    info.add(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(ranks, ",")));
    info.add_processes(PMIX_LOCAL_PROCS, procs_of(step.nspace, ranks));
    info.add_rank(PMIX_LOCALLDR, *std::min_element(ranks.begin(), ranks.end()));
    info.add(PMIX_AVAIL_PHYS_MEMORY, physical_memory());
    if (std::none_of(cpusets.begin(), cpusets.end(), [](const auto &c) { return c.empty(); }))
        info.add(PMIX_LOCAL_CPUSETS, fmt::format("{}", fmt::join(cpusets, ":")));
}

} // namespace

bool describes_all(const StepInfo &step, Rank details_up_to) {
    return step.map.rank_count() <= details_up_to || step.apps.size() > 1 || !step.process_sets.empty();
}

Result<InfoList> job_info(const StepInfo &step, const DebugStops &stops, const std::vector<LocalTask> &tasks,
                          const JobDirectories &directories, bool processes) {
    const JobMap &map = step.map;
    std::vector<std::vector<Rank>> ranks_by_host;
    for (HostIndex h = 0; h < map.host_count(); ++h)
        ranks_by_host.emplace_back(map.ranks_on(h).begin(), map.ranks_on(h).end());
    auto node_map = PmixLibrary::node_regex(map.hosts());
    auto process_map = PmixLibrary::rank_regex(ranks_by_host);
    if (!node_map || !process_map)
        return !node_map ? node_map.failure() : process_map.failure();
    const auto &allocated = step.allocated_hosts.empty() ? map.hosts() : step.allocated_hosts;
    std::uint32_t slots = std::max<std::uint32_t>(step.universe_size, map.rank_count());

    InfoList info;
    info.add(PMIX_NSPACE, step.nspace);
    info.add(PMIX_JOBID, step.job_id);
    // This one names the session that the job is in; a client can ask only for what is in the array.
    info.add(PMIX_SESSION_ID, step.session_id);
    InfoList job_realm;
    job_realm.add(PMIX_SESSION_ID, step.session_id);
    info.add_array(PMIX_JOB_INFO_ARRAY, std::move(job_realm));
    if (step.self != no_host) {
        info.add(PMIX_SERVER_NSPACE, step.server_nspace());
        info.add_rank(PMIX_SERVER_RANK, step.self);
    }
#if PMIX_NUMERIC_VERSION >= 0x00050000 // which finds what is of the session nowhere else
    InfoList session_realm;
    session_realm.add(PMIX_SESSION_ID, step.session_id);
    session_realm.add(PMIX_ALLOCATED_NODELIST, fmt::format("{}", fmt::join(allocated, ",")));
    session_realm.add(PMIX_UNIV_SIZE, slots);
    info.add_array(PMIX_SESSION_INFO_ARRAY, std::move(session_realm));
#endif
    info.add(PMIX_UNIV_SIZE, slots);
    info.add(PMIX_JOB_SIZE, std::uint32_t{map.rank_count()});
    info.add(PMIX_MAX_PROCS, slots);
    info.add(PMIX_NUM_NODES, std::uint32_t{map.host_count()});
    info.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(step.apps.size()));
    info.add_rank(PMIX_NPROC_OFFSET, 0);
    info.add(PMIX_NODE_LIST, fmt::format("{}", fmt::join(map.hosts(), ",")));
    info.add(PMIX_ALLOCATED_NODELIST, fmt::format("{}", fmt::join(allocated, ",")));
    info.add_regex(PMIX_NODE_MAP, node_map->get());
    info.add_regex(PMIX_PROC_MAP, process_map->get());
    if (!step.mapping_policy.empty())
        info.add(PMIX_MAPBY, step.mapping_policy);
    if (!step.ranking_policy.empty())
        info.add(PMIX_RANKBY, step.ranking_policy);
    if (!step.binding_policy.empty())
        info.add(PMIX_BINDTO, step.binding_policy);
    add_parent(info, step);
    if (step.parent && !step.parent->debugs.empty())
        info.add_process(PMIX_DEBUG_TARGET, proc_of(step.parent->debugs, step.parent->debugged_rank));
    if (!directories.session.empty())
        info.add(PMIX_TMPDIR, directories.session);
    if (!directories.nspace.empty())
        info.add(PMIX_NSDIR, directories.nspace);
    if (directories.cleaned)
        info.add(PMIX_TDIR_RMCLEAN, true);

    if (step.self != no_host) {
        add_this_host(info, step, tasks);
        add_stops(info, step, stops);
    }

    for (std::uint32_t a = 0; a < step.apps.size(); ++a)
        info.add_array(PMIX_APP_INFO_ARRAY, app_info(step, a));
    for (HostIndex h = 0; h < map.host_count(); ++h)
        info.add_array(PMIX_NODE_INFO_ARRAY, node_info(step, h));

    if (!processes)
        return info;
    auto places = places_of(step);
    std::vector<const LocalTask *> local(map.rank_count(), nullptr);
    for (const auto &task : tasks)
        local[task.rank] = &task;
    std::vector<std::vector<std::string>> sets(step.process_sets.empty() ? 0 : map.rank_count());
    for (const auto &set : step.process_sets) {
        for (Rank rank : set.ranks)
            sets[rank].push_back(set.name);
    }
    for (Rank r = 0; r < map.rank_count(); ++r)
        info.add_array(PMIX_PROC_DATA,
                       process_info(step, r, places[r], local[r], sets.empty() ? std::vector<std::string>() : sets[r]));
    return info;
}

std::vector<InfoList> own_process_infos(const StepInfo &step, const std::vector<LocalTask> &tasks) {
    auto places = places_of(step);
    std::vector<InfoList> infos;
    for (const auto &task : tasks) {
        std::vector<std::string> sets;
        for (const auto &set : step.process_sets) {
            if (std::find(set.ranks.begin(), set.ranks.end(), task.rank) != set.ranks.end())
                sets.push_back(set.name);
        }
        infos.push_back(process_info(step, task.rank, places[task.rank], &task, sets));
    }
    return infos;
}

} // namespace pmixhost
