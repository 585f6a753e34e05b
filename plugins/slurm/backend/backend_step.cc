// See backend_step.h.
#include "plugins/slurm/backend/backend_step.h"

#include "common/start/spawn_channel.h"
#include "common/start/step_secret.h"
#include "common/text/take_until.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include <fcntl.h>

namespace pmixhost::slurm {

namespace {

// Components of a het job are made one after the other and get numbers in a row, if with gaps.
constexpr std::uint32_t het_job_span = 1024;

bool of_this_step(const TaskMap &map, const StepName &name) {
    auto &jobs = map.component_jobs;
    bool job = map.job_id == name.job_id || std::find(jobs.begin(), jobs.end(), name.job_id) != jobs.end() ||
               name.job_id - map.job_id < het_job_span;
    return job && map.step_id == name.step_id;
}

// Finds, among the entries of `node`, that of the component whose first rank is `first`. The components' ranks do not
// overlap, so it is the entry with the lowest rank from there on.
HostIndex find_self(const TaskMap &map, const std::vector<std::string> &nodes, const std::string &node) {
    HostIndex self = no_host;
    Rank lowest = UINT32_MAX;
    for (HostIndex h = 0; h < nodes.size(); ++h) {
        if (nodes[h] != node || map.ranks_by_host[h].empty())
            continue;
        const auto &ranks = map.ranks_by_host[h];
        Rank rank = *std::min_element(ranks.begin(), ranks.end());
        if (rank >= map.first_rank && (self == no_host || rank < lowest)) {
            self = h;
            lowest = rank;
        }
    }
    return self;
}

// The policy in the words of PMIX_MAPBY and PMIX_RANKBY.
std::string policy_of(const std::string &distribution) {
    if (distribution == "block")
        return "slot";
    if (distribution == "cyclic")
        return "node";
    return {};
}

Result<StepName> read_name(const StartDocument &document) {
    auto job = document.number("slurm.job_id", UINT32_MAX);
    auto step = document.number("slurm.step_id", UINT32_MAX);
    if (!job || !step)
        return job ? step.failure() : job.failure();
    StepName name{static_cast<std::uint32_t>(*job), static_cast<std::uint32_t>(*step), {}};
    if (document.has("slurm.het_component")) {
        auto component = document.number("slurm.het_component", UINT32_MAX);
        if (!component)
            return component.failure();
        name.het_component = static_cast<std::uint32_t>(*component);
    }
    return name;
}

} // namespace

Result<std::vector<std::string>> expand_host_list(const std::string &text, std::size_t max) {
    HostList list = slurm_hostlist_create(text.c_str());
    if (!list)
        return error(ErrorKind::invalid, "'{}' is no host list", text.substr(0, 80));
    std::vector<std::string> hosts;
    auto count = static_cast<std::size_t>(std::max(0, slurm_hostlist_count(list)));
    if (count <= max) {
        hosts.reserve(count);
        while (char *host = slurm_hostlist_shift(list)) {
            hosts.emplace_back(host);
            std::free(host);
        }
    }
    slurm_hostlist_destroy(list);
    if (count > max)
        return error(ErrorKind::limit, "a host list of {} hosts", count);
    return hosts;
}

Result<std::vector<std::string>> sorted_hosts(const std::vector<std::string> &host_of_rank) {
    std::string text;
    for (const auto &host : host_of_rank) {
        if (!text.ends_with("," + host)) // most follow one another
            text += "," + host;
    }
    HostList list = slurm_hostlist_create(text.empty() ? "" : text.c_str() + 1);
    if (!list)
        return error(ErrorKind::invalid, "'{}' is no host list", text.substr(0, 80));
    slurm_hostlist_uniq(list);
    std::vector<std::string> hosts;
    while (char *host = slurm_hostlist_shift(list)) {
        hosts.emplace_back(host);
        std::free(host);
    }
    slurm_hostlist_destroy(list);
    return hosts;
}

std::uint32_t sum_of_cpus(std::string_view text) {
    std::uint64_t sum = 0;
    while (!text.empty()) {
        std::string_view part = take_until(text, ',');
        std::uint32_t cpus = 0, times = 1;
        const char *end = part.data() + part.size();
        auto [stop, code] = std::from_chars(part.data(), end, cpus);
        if (code != std::errc())
            return 0;
        if (stop != end) {
            if (end - stop < 4 || stop[0] != '(' || stop[1] != 'x' || end[-1] != ')')
                return 0;
            auto [last, bad] = std::from_chars(stop + 2, end - 1, times);
            if (bad != std::errc() || last != end - 1)
                return 0;
        }
        sum += std::uint64_t{cpus} * times;
        if (sum > UINT32_MAX)
            return 0;
    }
    return static_cast<std::uint32_t>(sum);
}

std::vector<std::string> distinct_names(const std::vector<std::string> &nodes) {
    std::unordered_map<std::string_view, unsigned> seen;
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const auto &node : nodes) {
        unsigned before = seen[node]++;
        names.push_back(before ? fmt::format("{}+{}", node, before) : node);
    }
    return names;
}

// Each once: components of a het job may share hosts. None where they are another job's: srun was called in one
// allocation and told to start in another.
static std::vector<std::string> hosts_of_allocation(std::vector<std::string> hosts,
                                                    const std::vector<std::string> &of_step) {
    std::unordered_set<std::string> known;
    std::erase_if(hosts, [&](const auto &host) { return !known.insert(host).second; });
    bool has_all = std::all_of(of_step.begin(), of_step.end(), [&](const auto &host) { return known.contains(host); });
    return has_all ? hosts : std::vector<std::string>();
}

Result<SlurmStep> read_start_document(const StartDocument &document, const Settings &settings) {
    auto name = read_name(document);
    auto host = document.text("host");
    auto text = document.text("slurm.task_map");
    if (!name || !host || !text)
        return !name ? name.failure() : !host ? host.failure() : text.failure();
    auto map = decode_task_map(*text);
    if (!map)
        return map.failure();
    if (!of_this_step(*map, *name))
        return error(ErrorKind::invalid, "the task map is of step {}.{}, but this is step {}", map->job_id,
                     map->step_id, to_text(*name));
    auto nodes = expand_host_list(map->host_list, TaskMap::max_hosts);
    if (!nodes)
        return nodes.failure();
    if (nodes->size() != map->ranks_by_host.size())
        return error(ErrorKind::invalid, "the task map has {} hosts, but tasks of {}", nodes->size(),
                     map->ranks_by_host.size());
    HostIndex self = find_self(*map, *nodes, *host);
    if (self == no_host)
        return error(ErrorKind::invalid, "the task map has no tasks for this host, {}", *host);
    auto job_map = JobMap::create(distinct_names(*nodes), std::move(map->ranks_by_host));
    if (!job_map)
        return job_map.failure();

    SlurmStep step;
    step.name = *name;
    step.leader_job = map->job_id;
    step.jobs = {name->job_id, map->job_id};
    step.jobs.insert(step.jobs.end(), map->component_jobs.begin(), map->component_jobs.end());
    for (std::size_t i = 0; i < step.jobs.size(); ++i) // the few there are
        step.jobs.erase(std::remove(step.jobs.begin() + i + 1, step.jobs.end(), step.jobs[i]), step.jobs.end());
    step.settings = settings;
    auto contacts = document.text("slurm.contacts");
    step.contacts = contacts ? *contacts : step.settings.directory_base;
    if (auto where = document.text("slurm.report")) {
        auto target = kit::StarterAddress::parse(*where);
        if (target)
            step.report = std::move(*target);
    }
    if (auto secret = document.text("slurm.secret")) {
        if (!is_step_secret(*secret))
            return error(ErrorKind::invalid, "start document: slurm.secret is garbled");
        step.info.shared_secret = *secret;
        step.info.relatives_only =
            "without munge a step meets only those that PMIx_Spawn has started from it or it was started from: others, "
            "and "
            "what they publish, are not found. To let them meet, start munged on all hosts, with one key";
    }
    for (auto [key, to] : {std::pair("slurm.lifeline_fd", &step.lifeline_fd), {"slurm.output_fd", &step.output_fd}}) {
        if (!document.has(key))
            continue;
        auto fd = document.number(key, INT32_MAX);
        if (!fd)
            return fd.failure();
        *to = static_cast<int>(*fd);
        if (fcntl(*to, F_SETFD, FD_CLOEXEC) != 0)
            return system_error(fmt::format("start document: {} {}", key, *fd), errno);
    }

    StepInfo &info = step.info;
    info.launcher_file = document.has("slurm.launcher_file");
    info.tells_launch = document.has("slurm.tells_launch");
    if (auto ends = document.text("slurm.tells_ends"); ends && info.tells_launch)
        info.tells_ends = told_ends_of(*ends);
    info.nspace = namespace_of(map->job_id, map->step_id);
    if (auto text = document.text("slurm.parent")) {
        auto parent = ParentWord::parse(*text);
        if (!parent)
            return error(ErrorKind::invalid, "start document: slurm.parent is garbled");
        info.parent = StepInfo::Parent{parent->nspace,   parent->rank,       parent->shares_fate, parent->stops,
                                       parent->forwards, parent->host,       parent->debugs,      parent->debugged_rank,
                                       parent->tells,    parent->held_bytes, parent->held_seconds};
    }
    info.job_id = fmt::format("{}.{}", map->job_id, map->step_id);
    info.session_id = map->job_id;
    info.number = map->step_id & 0xffffff; // those of Slurm's own steps are the highest ones
    info.universe_size = sum_of_cpus(map->allocated_cpus);
    if (info.universe_size < job_map->rank_count())
        info.universe_size = job_map->rank_count(); // overcommitted, or srun knows no number (heterogeneous jobs)
    if (!map->allocated_hosts.empty()) {
        if (auto hosts = expand_host_list(map->allocated_hosts, TaskMap::max_hosts))
            info.allocated_hosts = hosts_of_allocation(std::move(*hosts), *nodes);
    }
    info.map = std::move(*job_map);
    info.self = self;
    info.apps = std::move(map->apps);
    if (info.apps.empty())
        info.apps.push_back({});
    info.process_sets = std::move(map->process_sets);
    add_program_sets(info.process_sets, info.apps);
    info.mapping_policy = info.ranking_policy = policy_of(map->distribution);
    info.binding_policy = map->binding;
    if (auto file = document.text("slurm.topology"))
        info.topology_file = *file;
    if (auto use = document.text("slurm.pmix_use"))
        info.pmix_use = pmix_use_of(*use);
    info.step_key = fmt::format("slurm:{}:{}:{}", map->cluster, info.job_id, map->start_key);
    step.node_of = std::move(*nodes);
    step.session_node = info.allocated_hosts.empty() ? step.node_of.front() : info.allocated_hosts.front();
    return step;
}

} // namespace pmixhost::slurm
