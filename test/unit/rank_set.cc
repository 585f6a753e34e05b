// Sets of ranks: what is in one, how few bytes it takes, that there is one way to write it, and that no lie about one
// is believed, or costs more than its bytes.
#include "common/wire/rank_set.h"

#include <algorithm>
#include <random>
#include <set>

#include "test/unit/check.h"

using namespace pmixhost;
using wire::RankSet;

namespace {

using Numbers = std::vector<std::uint32_t>;

// As another daemon may send it.
Bytes written(const Numbers &words) {
    Bytes bytes;
    wire::Writer(bytes).put(words);
    return bytes;
}
bool is_believed(const Numbers &words) {
    auto set = wire::decode<RankSet>(written(words));
    return set && set->valid();
}

std::vector<wire::RankRange> ranges_of(const Numbers &numbers) {
    std::vector<wire::RankRange> ranges;
    for (std::uint32_t number : numbers) {
        if (!ranges.empty() && ranges.back().last + 1 == number)
            ranges.back().last = number;
        else
            ranges.push_back({number, number});
    }
    return ranges;
}

// By ranges it is the same set, and gives them back.
void check_ranges(const Numbers &numbers) {
    auto ranges = ranges_of(numbers);
    RankSet set = RankSet::of_ranges(ranges);
    assert_true(wire::encode(set) == wire::encode(RankSet{std::span(numbers)}));
    auto back = set.ranges();
    assert_true(std::equal(back.begin(), back.end(), ranges.begin(), ranges.end(),
                           [](const auto &a, const auto &b) { return a.first == b.first && a.last == b.last; }));
}

// `words`: that it is written in.
void check_set(const Numbers &numbers, std::size_t words) {
    RankSet set{std::span(numbers)};
    auto bytes = wire::encode(set);
    assert_int_equal(bytes.size(), 4 * (words + 1));
    auto back = wire::decode<RankSet>(bytes);
    assert_true(back && back->valid());
    assert_true(wire::encode(*back) == bytes);
    assert_int_equal(back->size(), numbers.size());
    assert_int_equal(back->empty(), numbers.empty());
    Numbers all;
    for (std::uint32_t number : *back)
        all.push_back(number);
    assert_true(all == numbers);
    if (!numbers.empty())
        assert_int_equal(back->back(), numbers.back());
    check_ranges(numbers);
}

void sets_come_back_as_they_were(void **) {
    check_set({}, 0);
    check_set({7}, 3);
    check_set({0, 1, 2, 3}, 3);
    check_set({0, 1, 7}, 3);
    check_set({0, 40}, 4);
    check_set({5, 45, 85, 125}, 4);
    check_set({0, 1000, 2000, 2001, 2002}, 7);
    check_set({0, 1000, 2000, 5000}, 7);
    check_set({0, UINT32_MAX - 1}, 4);
    check_set({UINT32_MAX - 1}, 3);
    check_set({UINT32_MAX - 33, UINT32_MAX - 32, UINT32_MAX - 1}, 4);
}

void a_set_is_what_was_put_into_it(void **) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        std::uint32_t span = 1 + random() % 500, first = round % 3 == 0 ? UINT32_MAX - span : random() % 1000;
        std::set<std::uint32_t> wanted;
        for (std::uint32_t i = 0, count = 1 + random() % span; i < count; ++i)
            wanted.insert(first + random() % span);
        Numbers numbers(wanted.begin(), wanted.end());
        RankSet set{std::span(numbers)};
        assert_true(set.valid());
        assert_true(wire::encode(set).size() <= 4 * (4 + span / 32));
        check_ranges(numbers);
        assert_true(Numbers(numbers) == [&] {
            Numbers all;
            for (std::uint32_t number : set)
                all.push_back(number);
            return all;
        }());
        for (std::uint32_t from = first > 3 ? first - 3 : 0; from < first + span; ++from) {
            auto next = wanted.lower_bound(from);
            assert_true(set.next(from) == (next == wanted.end() ? std::nullopt : std::optional<std::uint32_t>(*next)));
            assert_int_equal(set.contains(from), wanted.contains(from));
            assert_int_equal(set.has_one_of(from, from + 5), next != wanted.end() && *next <= from + 5);
        }
    }
}

// 1.28 million ranks on 10,000 hosts.
void large_sets_are_small(void **) {
    constexpr std::uint32_t all = 1'280'000;
    auto bytes_where = [](auto is_in) {
        Numbers numbers;
        for (std::uint32_t rank = 0; rank < all; ++rank) {
            if (is_in(rank))
                numbers.push_back(rank);
        }
        RankSet set{std::span(numbers)};
        assert_int_equal(set.size(), numbers.size());
        assert_true(set.valid());
        assert_int_equal(set.bytes() + 4, wire::encode(set).size()); // nothing is set aside
        return wire::encode(set).size();
    };
    std::mt19937 random(1);
    assert_int_equal(bytes_where([](auto rank) { return rank < all / 2; }), 20);
    assert_int_equal(bytes_where([](auto rank) { return rank % 2 == 1; }), 20);
    assert_int_equal(bytes_where([](auto rank) { return rank % 128 < 64; }), 8 + 12 * 10'000);
    assert_true(bytes_where([](auto rank) { return rank % 3 != 2; }) <= 12 + all / 8);
    assert_true(bytes_where([&](auto) { return random() % 2 == 0; }) <= 12 + all / 8);
}

void lies_are_refused(void **) {
    assert_true(is_believed({1, 0, 100, 1}));
    assert_false(is_believed({1}));
    assert_false(is_believed({1, 0, 100}));
    assert_false(is_believed({2, 0, 100, 1}));
    assert_false(is_believed({1, 0, 0, 0}));
    assert_false(is_believed({1, 0, 100, 0}));             // the same one again and again
    assert_false(is_believed({1, 0, 100, 1, 50, 100, 1})); // some twice
    assert_false(is_believed({1, 900, 50, 1, 0, 50, 1}));  // descending
    assert_false(is_believed({1, 0, 100, 1, 100, 50, 1})); // one run
    assert_false(is_believed({1, 0, 1, 0, 100, 2, 1}));    // which begins earlier
    assert_true(is_believed({1, 0, 2, 100, 101, 50, 1}));  // as it does here
    assert_false(is_believed({1, 0, 3, 1}));               // a bit each is shorter
    assert_false(is_believed({1, UINT32_MAX - 9, 10, 1})); // beyond the last one
    assert_false(is_believed({1, UINT32_MAX, UINT32_MAX, UINT32_MAX}));
    assert_true(is_believed({0, 7, 0x15}));
    assert_false(is_believed({0, 7}));
    assert_false(is_believed({0, 7, 0}));
    assert_false(is_believed({0, 7, 0x14}));                   // begins later
    assert_false(is_believed({0, 7, 0x15, 0}));                // ends earlier
    assert_false(is_believed({0, 0, UINT32_MAX, UINT32_MAX})); // a run is not longer
    assert_false(is_believed({0, UINT32_MAX - 5, 0x81}));      // beyond the last one
    assert_false(wire::decode<RankSet>(written({1, 0, 100, 1}) + "x").ok());
    Bytes many = written({1, 0, 100, 1});
    many[0] = '\x40'; // a billion words
    assert_false(wire::decode<RankSet>(many).ok());
}

// Who looks at one does not go through what it is said to have.
void a_run_of_four_billion_costs_nothing(void **) {
    auto set = wire::decode<RankSet>(written({1, 0, UINT32_MAX / 2, 2}));
    assert_true(set && set->valid());
    assert_int_equal(set->size(), UINT32_MAX / 2);
    assert_int_equal(set->back(), UINT32_MAX - 3);
    assert_true(set->contains(2'000'000'000) && !set->contains(2'000'000'001));
    assert_true(set->next(UINT32_MAX - 4) == std::optional(UINT32_MAX - 3));
    assert_false(set->next(UINT32_MAX - 2).has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sets_come_back_as_they_were),
        cmocka_unit_test(a_set_is_what_was_put_into_it),
        cmocka_unit_test(large_sets_are_small),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(a_run_of_four_billion_costs_nothing),
    };
    return cmocka_run_group_tests_name("sets of ranks", tests, nullptr, nullptr);
}
