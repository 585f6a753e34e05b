// A list of ranks whose order counts, such as those of a host by local rank, in a few numbers: jobs are mapped by
// blocks or in turns, so that the ranks of a host follow on each other at one distance. What a job of 10,000 hosts
// tells another one of itself is a twentieth of the ranks, one by one.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/cross_job_messages.h"

namespace pmixhost {

// Lists that name a rank twice are kept as they are; a list that descends becomes a run for each rank.
std::vector<wire::RankRun> runs_of(std::span<const Rank> ranks);
// How many ranks they are said to have. Any input.
std::uint64_t rank_count_of(const std::vector<wire::RankRun> &runs);
// Of a whole job, UINT32_MAX for more than that.
Rank size_of(const wire::NamespaceInfo &info);
// Fails (limit) when there are more than `most`, (invalid) where a rank would be larger than a rank can be.
Result<std::vector<Rank>> ranks_of(const std::vector<wire::RankRun> &runs, std::uint64_t most);

} // namespace pmixhost
