// Ranges of ranks, against a plain set.
#include "common/job/rank_ranges.h"

#include <climits>
#include <set>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

std::string text(const std::vector<wire::RankRange> &ranges) {
    std::string out;
    for (const auto &range : ranges)
        out += fmt::format("{}-{} ", range.first, range.last);
    return out;
}

void ranges_that_touch_become_one(void **) {
    RankRanges ranges;
    assert_true(ranges.empty());
    ranges.add(5, 5);
    ranges.add(7, 9);
    ranges.add(3, 2); // none
    ranges.add(6, 6);
    ranges.add(0, 1);
    ranges.add(20, 30);
    ranges.add(UINT_MAX, UINT_MAX);
    ranges.add(UINT_MAX - 1, UINT_MAX);
    ranges.add(25, 28);
    assert_string_equal(text(ranges.take_all()).c_str(), "0-1 5-9 20-30 4294967294-4294967295 ");
    assert_true(ranges.empty());
}

void some_are_taken_at_a_time(void **) {
    RankRanges ranges;
    ranges.add(0, 2);
    ranges.add(10, 14);
    assert_true(ranges.take(4) == (std::vector<Rank>{0, 1, 2, 10}));
    assert_true(ranges.take(0).empty());
    assert_true(ranges.take(9) == (std::vector<Rank>{11, 12, 13, 14}));
    assert_true(ranges.empty());
    ranges.add(UINT_MAX - 1, UINT_MAX);
    assert_int_equal(ranges.take(9).size(), 2);
}

void as_a_set_does(void **) {
    std::uint64_t random = 7;
    auto next = [&](Rank limit) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return static_cast<Rank>((random >> 33) % limit);
    };
    for (int round = 0; round < 200; ++round) {
        RankRanges ranges;
        std::set<Rank> set;
        for (int i = 0; i < 30; ++i) {
            Rank first = next(100), last = first + next(6);
            ranges.add(first, last);
            for (Rank rank = first; rank <= last; ++rank)
                set.insert(rank);
        }
        auto taken = ranges.take(1000);
        assert_true(taken == std::vector<Rank>(set.begin(), set.end()));
    }
}

void without_others_as_a_set(void **) {
    std::uint64_t random = 11;
    auto next = [&](Rank limit) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return static_cast<Rank>((random >> 33) % limit);
    };
    for (int round = 0; round < 500; ++round) {
        RankRanges one, other;
        std::set<Rank> left, taken;
        for (int i = 0; i < 8; ++i) {
            Rank first = next(60), last = first + next(12);
            (i % 2 == 0 ? one : other).add(first, last);
            for (Rank rank = first; rank <= last; ++rank)
                (i % 2 == 0 ? left : taken).insert(rank);
        }
        for (Rank rank = 0; rank < 80; ++rank) {
            assert_int_equal(one.contains(rank), left.contains(rank));
            bool any = false;
            for (Rank r = rank; r <= rank + 5; ++r)
                any = any || left.contains(r);
            assert_int_equal(one.overlaps(rank, rank + 5), any);
        }
        one.subtract(other);
        for (Rank rank : taken)
            left.erase(rank);
        assert_true(one.take(1000) == std::vector<Rank>(left.begin(), left.end()));
    }
    RankRanges all;
    all.add(0, UINT_MAX);
    RankRanges ends;
    ends.add(0, 0);
    ends.add(UINT_MAX, UINT_MAX);
    all.subtract(ends);
    assert_string_equal(text(all.take_all()).c_str(), "1-4294967294 ");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(ranges_that_touch_become_one),
        cmocka_unit_test(some_are_taken_at_a_time),
        cmocka_unit_test(as_a_set_does),
        cmocka_unit_test(without_others_as_a_set),
    };
    return cmocka_run_group_tests_name("ranges of ranks", tests, nullptr, nullptr);
}
