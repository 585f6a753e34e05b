// Names of processes and ranks as several messages have them.
#pragma once

#include "common/wire/codec.h"

namespace pmixhost::wire {

struct ProcessName {
    static constexpr const char *name = "ProcessName";
    Bytes nspace;
    std::uint32_t rank = 0;
    static constexpr void fields(auto &&field) {
        field(&ProcessName::nspace, "nspace", "namespace");
        field(&ProcessName::rank, "rank", "rank, or PMIX_RANK_WILDCARD");
    }
};
struct RankRange {
    static constexpr const char *name = "RankRange";
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    static constexpr void fields(auto &&field) {
        field(&RankRange::first, "first", "a rank");
        field(&RankRange::last, "last", "the last one that follows on it");
    }
};
// Of a list whose order counts (common/job/rank_runs.h).
struct RankRun {
    static constexpr const char *name = "RankRun";
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t stride = 0;
    static constexpr void fields(auto &&field) {
        field(&RankRun::first, "first", "a rank");
        field(&RankRun::count, "count", "how many ranks there are, this one among them");
        field(&RankRun::stride, "stride", "from each one to the next");
    }
};

} // namespace pmixhost::wire
