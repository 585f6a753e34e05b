// Lists of ranks in a few numbers.
#include "common/job/rank_runs.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void check_list(const std::vector<Rank> &ranks, std::size_t runs) {
    auto made = runs_of(ranks);
    assert_int_equal(made.size(), runs);
    assert_int_equal(rank_count_of(made), ranks.size());
    auto back = ranks_of(made, ranks.size());
    assert_true(back && *back == ranks);
}

void lists_come_back_as_they_were(void **) {
    check_list({}, 0);
    check_list({7}, 1);
    check_list({4, 5, 6, 7}, 1);
    check_list({1, 5, 9, 13}, 1);
    check_list({0, 1, 2, 10, 11, 12}, 2);
    check_list({0, 1, 6, 7}, 2);
    check_list({3, 2, 1, 0}, 4);
    check_list({5, 5, 5}, 1);
    check_list({0, UINT32_MAX - 1}, 1);
    check_list({UINT32_MAX - 1, 0, UINT32_MAX - 1}, 2);
}

void lies_are_refused(void **) {
    assert_string_equal(ranks_of({{0, 11, 1}}, 10).failure().text.c_str(), "11 ranks, more than 10");
    assert_string_equal(
        ranks_of({{0, UINT32_MAX, 1}, {0, UINT32_MAX, 1}, {0, UINT32_MAX, 1}}, 1'000'000).failure().text.c_str(),
        "12884901885 ranks, more than 1000000");
    assert_string_equal(ranks_of({{UINT32_MAX - 1, 2, 1}}, 10).failure().text.c_str(), "a rank of 4294967295");
    assert_string_equal(ranks_of({{5, 3, UINT32_MAX}}, 10).failure().text.c_str(), "a rank of 4294967300");
    wire::NamespaceInfo info;
    info.hosts = {{"a", {{0, UINT32_MAX, 1}}}, {"b", {{0, UINT32_MAX, 1}}}};
    assert_int_equal(size_of(info), UINT32_MAX);
}

// 10,000 hosts with 128 ranks each, in blocks and in turns.
void a_large_job_says_little(void **) {
    for (bool blocks : {true, false}) {
        wire::NamespaceInfo info;
        for (Rank host = 0; host < 10'000; ++host) {
            std::vector<Rank> ranks;
            for (Rank i = 0; i < 128; ++i)
                ranks.push_back(blocks ? host * 128 + i : i * 10'000 + host);
            info.hosts.push_back({fmt::format("node{:05}", host), runs_of(ranks)});
        }
        assert_int_equal(size_of(info), 1'280'000);
        assert_in_range(wire::encode(info).size(), 1, 320'000);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(lists_come_back_as_they_were),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(a_large_job_says_little),
    };
    return cmocka_run_group_tests_name("runs of ranks", tests, nullptr, nullptr);
}
