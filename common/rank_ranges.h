// A set of ranks that mostly follow on each other, such as those of the processes that have ended: what
// it takes grows with the gaps, not with the ranks.
#pragma once

#include "common/job_map.h"
#include "common/wire/messages.h"

#include <map>

namespace pmixhost {

class RankRanges {
  public:
    // Nothing when `last` is smaller than `first`.
    void add(Rank first, Rank last);
    bool empty() const { return ranges_.empty(); }
    // In order, no two touching each other; the set is empty afterwards.
    std::vector<wire::RankRange> take_all();
    // The lowest ranks, at most `limit` of them.
    std::vector<Rank> take(std::size_t limit);

  private:
    std::map<Rank, Rank> ranges_; // first and last
};

} // namespace pmixhost
