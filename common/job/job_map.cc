// See job_map.h.
#include "common/job/job_map.h"

#include <unordered_set>

namespace pmixhost {

Result<JobMap> JobMap::create(std::vector<std::string> hosts, std::vector<std::vector<Rank>> ranks_by_host) {
    if (hosts.empty() || hosts.size() != ranks_by_host.size())
        return error(ErrorKind::invalid, "task map: {} hosts, but task lists for {}", hosts.size(),
                     ranks_by_host.size());
    std::unordered_set<std::string_view> names;
    for (const auto &host : hosts) {
        if (host.empty() || !names.insert(host).second)
            return error(ErrorKind::invalid, "task map: host '{}' is listed twice", host);
    }
    std::size_t count = 0;
    for (const auto &ranks : ranks_by_host)
        count += ranks.size();
    if (count == 0 || count >= UINT32_MAX - 16)
        return error(ErrorKind::invalid, "task map: {} tasks", count);

    JobMap map;
    map.host_of_rank_.assign(count, no_host);
    map.local_rank_.assign(count, 0);
    for (HostIndex h = 0; h < hosts.size(); ++h) {
        std::uint32_t local = 0;
        for (Rank rank : ranks_by_host[h]) {
            if (rank >= count)
                return error(ErrorKind::invalid, "task map: task {} on {}, but there are {} tasks", rank, hosts[h],
                             count);
            if (map.host_of_rank_[rank] != no_host)
                return error(ErrorKind::invalid, "task map: task {} is listed twice", rank);
            map.host_of_rank_[rank] = h;
            map.local_rank_[rank] = local++;
        }
    }
    map.hosts_ = std::move(hosts);
    map.ranks_by_host_ = std::move(ranks_by_host);
    return map;
}

JobMap JobMap::without_ranks(std::string host) {
    JobMap map;
    map.hosts_.push_back(std::move(host));
    map.ranks_by_host_.emplace_back();
    return map;
}

} // namespace pmixhost
