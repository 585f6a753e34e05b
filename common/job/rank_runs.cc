// See rank_runs.h.
#include "common/job/rank_runs.h"

#include <algorithm>

namespace pmixhost {

std::vector<wire::RankRun> runs_of(std::span<const Rank> ranks) {
    std::vector<wire::RankRun> runs;
    for (Rank rank : ranks) {
        if (!runs.empty()) {
            auto &run = runs.back();
            Rank last = run.first + (run.count - 1) * run.stride;
            if (run.count == 1 && rank >= run.first)
                run.stride = rank - run.first;
            if (rank >= last && rank - last == run.stride) {
                ++run.count;
                continue;
            }
        }
        runs.push_back({rank, 1, 0});
    }
    return runs;
}

std::uint64_t rank_count_of(const std::vector<wire::RankRun> &runs) {
    std::uint64_t count = 0;
    for (const auto &run : runs)
        count += run.count;
    return count;
}

Rank size_of(const wire::NamespaceInfo &info) {
    std::uint64_t size = 0;
    for (const auto &host : info.hosts)
        size += rank_count_of(host.ranks);
    return static_cast<Rank>(std::min<std::uint64_t>(size, UINT32_MAX));
}

Result<std::vector<Rank>> ranks_of(const std::vector<wire::RankRun> &runs, std::uint64_t most) {
    if (std::uint64_t count = rank_count_of(runs); count > most)
        return error(ErrorKind::limit, "{} ranks, more than {}", count, most);
    std::vector<Rank> ranks;
    for (const auto &run : runs) {
        for (std::uint64_t i = 0, rank = run.first; i < run.count; ++i, rank += run.stride) {
            if (rank >= no_host)
                return error(ErrorKind::invalid, "a rank of {}", rank);
            ranks.push_back(static_cast<Rank>(rank));
        }
    }
    return ranks;
}

} // namespace pmixhost
