// A set of ranks that mostly follow on each other, such as those of the processes that have ended. Its size in memory
// grows with the number of gaps, not of ranks.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/names.h"

#include <map>

namespace pmixhost {

class RankRanges {
  public:
    // Does nothing when `last` is smaller than `first`.
    void add(Rank first, Rank last);
    bool empty() const { return ranges_.empty(); }
    bool contains(Rank rank) const { return overlaps(rank, rank); }
    // Has any of these ranks?
    bool overlaps(Rank first, Rank last) const;
    void add_all(const RankRanges &others);
    // Takes what is in `others` out of this.
    void subtract(const RankRanges &others);
    const std::map<Rank, Rank> &ranges() const { return ranges_; } // first and last
    // Takes all ranks out: in order, no two ranges touching each other.
    std::vector<wire::RankRange> take_all();
    // Takes out the lowest ranks, at most `limit` of them.
    std::vector<Rank> take(std::size_t limit);

  private:
    std::map<Rank, Rank> ranges_;
};

} // namespace pmixhost
