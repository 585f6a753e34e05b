// See rank_ranges.h.
#include "common/job/rank_ranges.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

void RankRanges::add(Rank first, Rank last) {
    if (last < first)
        return;
    auto next = ranges_.upper_bound(first);
    if (next != ranges_.begin()) { // one that begins before, and touches it
        auto before = std::prev(next);
        if (before->second >= first || before->second + 1 == first) {
            first = before->first;
            last = std::max(last, before->second);
            next = ranges_.erase(before);
        }
    }
    while (next != ranges_.end() && (next->first <= last || next->first - 1 == last)) {
        last = std::max(last, next->second);
        next = ranges_.erase(next);
    }
    ranges_.emplace(first, last);
}

bool RankRanges::overlaps(Rank first, Rank last) const {
    auto next = ranges_.upper_bound(last); // none from here on
    return next != ranges_.begin() && std::prev(next)->second >= first;
}

void RankRanges::add_all(const RankRanges &others) {
    for (const auto &[first, last] : others.ranges_)
        add(first, last);
}

void RankRanges::subtract(const RankRanges &others) {
    std::map<Rank, Rank> left;
    auto other = others.ranges_.begin();
    for (const auto &range : ranges_) {
        Rank first = range.first, last = range.second;
        while (other != others.ranges_.end() && other->second < first)
            ++other;
        bool some = true; // of first..last is still to be looked at
        for (auto each = other; some && each != others.ranges_.end() && each->first <= last; ++each) {
            if (each->first > first)
                left.emplace(first, each->first - 1);
            some = each->second < last;
            if (some)
                first = each->second + 1;
        }
        if (some)
            left.emplace(first, last);
    }
    ranges_ = std::move(left);
}

std::vector<wire::RankRange> RankRanges::take_all() {
    std::vector<wire::RankRange> out;
    for (const auto &[first, last] : std::exchange(ranges_, {}))
        out.push_back({first, last});
    return out;
}

std::vector<Rank> RankRanges::take(std::size_t limit) {
    std::vector<Rank> out;
    while (!ranges_.empty() && out.size() < limit) {
        auto node = ranges_.extract(ranges_.begin());
        Rank first = node.key(), last = node.mapped();
        for (; out.size() < limit; ++first) {
            out.push_back(first);
            if (first == last)
                break;
        }
        if (out.back() != last)
            ranges_.emplace(out.back() + 1, last);
    }
    return out;
}

} // namespace pmixhost
