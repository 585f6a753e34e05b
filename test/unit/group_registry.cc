// Which groups a host knows, and what their names stand for.
#include "server-glue/groups/group_registry.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

Process one(const char *nspace, Rank rank) {
    return {nspace, rank, false};
}
Process all(const char *nspace) {
    return {nspace, UINT32_MAX, true};
}

GroupRegistry two_groups() {
    GroupRegistry registry;
    assert_true(registry.add({"red", {one("a", 0), one("a", 3), one("b", 1)}, 17, false}));
    assert_true(registry.add({"blue", {all("a")}, std::nullopt, true}));
    return registry;
}

std::string text_of(const Result<std::vector<Process>> &processes) {
    if (!processes)
        return "error";
    std::string out;
    for (const auto &p : *processes)
        out += p.nspace + (p.wildcard ? "*" : std::to_string(p.rank)) + " ";
    return out;
}

void known_from_add_to_remove(void **) {
    GroupRegistry registry = two_groups();
    assert_int_equal(registry.all().size(), 2);
    assert_non_null(registry.find("red"));
    assert_int_equal(*registry.find("red")->context_id, 17);
    assert_true(registry.add({"red", {one("a", 1)}, std::nullopt, false})); // the name is used again
    assert_int_equal(registry.all().size(), 2);
    assert_int_equal(registry.find("red")->members.size(), 1);
    assert_true(registry.remove("red"));
    assert_false(registry.remove("red"));
    assert_null(registry.find("red"));
}

void an_invitation_takes_no_name(void **) {
    GroupRegistry registry = two_groups();
    Group invited{"red", {one("a", 0), one("a", 1)}, std::nullopt, false, false, one("a", 0)};
    assert_true(registry.is_taken(invited));
    assert_false(registry.add(invited)); // a collective has built that one
    assert_int_equal(*registry.find("red")->context_id, 17);
    invited.name = "green";
    assert_true(registry.add(invited));
    assert_true(registry.add({"green", {one("a", 1), one("a", 2)}, std::nullopt, false, false, one("a", 1)}));
    assert_false(registry.add(invited)); // its leader is no longer in it
    assert_true(registry.find("green")->members.contains("a", 2));
    assert_true(registry.add({"green", {one("a", 5)}, std::nullopt, false})); // by a collective
    assert_true(registry.remove("green"));
    assert_true(registry.add(invited));
    for (Rank last : {2u, 3u}) // who builds it is no member
        assert_true(registry.add({"grey", {one("a", 1), one("a", last)}, std::nullopt, false, false, one("a", 0)}));
    assert_true(registry.find("grey")->members.contains("a", 3));
}

void of_a_process(void **) {
    GroupRegistry registry = two_groups();
    const Rank ranks[] = {7, 3, 1};
    auto affected = registry.affected("a", ranks);
    assert_int_equal(affected.size(), 1); // red does not want to know
    assert_string_equal(affected[0].group->name.c_str(), "blue");
    assert_true(affected[0].failed == std::vector<Rank>({7, 3, 1}));
    Group red = *registry.find("red");
    red.tells_of_ends = true;
    assert_true(registry.add(red));
    affected = registry.affected("a", ranks);
    assert_int_equal(affected.size(), 2);
    assert_string_equal(affected[1].group->name.c_str(), "red");
    assert_true(affected[1].failed == std::vector<Rank>({3}));
    assert_int_equal(registry.affected("c", ranks).size(), 0);
}

void lists_of_members(void **) {
    MemberList list{one("a", 4), one("a", 5), one("b", 0), one("a", 3), one("a", 4), all("c")};
    assert_int_equal(list.size(), 6);
    assert_int_equal(list.runs(), 4);
    const std::vector<Process> in_order = list.all();
    assert_string_equal(text_of(Result<std::vector<Process>>(in_order)).c_str(), "a4 a5 b0 a3 a4 c* ");
    for (std::size_t i = 0; i < list.size(); ++i) {
        assert_string_equal(list.at(i).nspace.c_str(), in_order[i].nspace.c_str());
        assert_int_equal(list.at(i).rank, in_order[i].rank);
        assert_int_equal(list.at(i).wildcard, in_order[i].wildcard);
    }
    for (Rank rank = 0; rank < 8; ++rank)
        assert_int_equal(list.contains("a", rank), rank >= 3 && rank <= 5);
    assert_true(list.contains("c", 1000));
    assert_false(list.contains("d", 0));
    assert_false(list.only_of("a"));
    assert_true(MemberList({one("a", 0), all("a")}).only_of("a"));
    // At the end of all numbers.
    MemberList edge{one("a", UINT32_MAX), one("a", 0), one("a", UINT32_MAX - 1)};
    assert_true(edge.contains("a", UINT32_MAX) && edge.contains("a", 0) && !edge.contains("a", 1));
    assert_false(MemberList().contains("a", 0));
}

void each_rank_in_place_of_a_wildcard(void **) {
    auto size_of = [](const Bytes &nspace) { return nspace == "a" ? 3u : nspace == "b" ? 10'000u : 0u; };
    auto text = [&](const MemberList &list, std::size_t most) {
        return text_of(Result<std::vector<Process>>(list.each(size_of, most)));
    };
    MemberList list{one("b", 7), all("a"), one("b", 5)};
    assert_string_equal(text(list, 100).c_str(), "b7 a0 a1 a2 b5 ");
    assert_string_equal(text(list, 5).c_str(), "b7 a0 a1 a2 b5 ");
    assert_string_equal(text(list, 4).c_str(), "b7 a* b5 ");
    assert_string_equal(text({all("b"), all("a")}, 100).c_str(), "b* a* ");
    assert_string_equal(text({all("unknown"), all("a")}, 100).c_str(), "unknown* a0 a1 a2 ");
    assert_int_equal(MemberList({all("b")}).each(size_of, 10'000).size(), 10'000);
    assert_string_equal(text({}, 100).c_str(), "");
}

// 1,000 hosts of 128 ranks, groups of everybody in an order that has no runs, and each host is lost in
// its turn: with a search through the members this would take weeks.
void a_lost_host_costs_little(void **) {
    constexpr Rank hosts = 1000, per_host = 128, count = hosts * per_host;
    std::vector<Process> everybody;
    for (Rank rank = 0; rank < count; ++rank)
        everybody.push_back(one("job", static_cast<Rank>(std::uint64_t{rank} * 40503 % count)));
    GroupRegistry registry;
    for (int i = 0; i < 16; ++i)
        assert_true(registry.add({"g" + std::to_string(i), everybody, std::nullopt, true}));
    std::size_t told = 0;
    for (Rank host = 0; host < hosts; ++host) {
        std::vector<Rank> lost;
        for (Rank rank = 0; rank < per_host; ++rank)
            lost.push_back(host * per_host + rank);
        for (const auto &[group, failed] : registry.affected("job", lost))
            told += failed.size();
    }
    assert_int_equal(told, 16 * count);
}

void no_more_than_so_many_members(void **) {
    std::vector<Process> spread; // every second one: no runs
    for (Rank rank = 0; rank < 1'000'000; ++rank)
        spread.push_back(one("job", 2 * rank));
    GroupRegistry registry;
    for (int i = 0; i < 4; ++i)
        assert_true(registry.add({"g" + std::to_string(i), spread, std::nullopt}));
    assert_false(registry.add({"more", {one("job", 0)}, std::nullopt}));
    assert_true(registry.add({"g0", spread, std::nullopt})); // in its own place
    assert_true(registry.remove("g0"));
    assert_true(registry.add({"more", {one("job", 0)}, std::nullopt}));
    std::vector<Process> dense; // runs: many more of them would go
    for (Rank rank = 0; rank < 100'000; ++rank)
        dense.push_back(one("job", rank));
    for (int i = 0; i < 20; ++i) // twice as many members as are left
        assert_true(registry.add({"d" + std::to_string(i), dense, std::nullopt}));
}

void names_stand_for_members(void **) {
    GroupRegistry registry = two_groups();
    assert_string_equal(text_of(registry.expand({one("c", 5), all("red"), all("c")})).c_str(), "c5 a0 a3 b1 c* ");
    assert_string_equal(text_of(registry.expand({one("red", 2), one("red", 1)})).c_str(), "b1 a3 ");
    assert_string_equal(text_of(registry.expand({one("red", 3)})).c_str(), "error");
    assert_string_equal(text_of(registry.expand({all("blue")})).c_str(), "a* ");
    assert_string_equal(text_of(registry.expand({one("blue", 3)})).c_str(), "a3 ");
    assert_string_equal(text_of(GroupRegistry().expand({all("red")})).c_str(), "red* ");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(known_from_add_to_remove),         cmocka_unit_test(of_a_process),
        cmocka_unit_test(an_invitation_takes_no_name),      cmocka_unit_test(lists_of_members),
        cmocka_unit_test(each_rank_in_place_of_a_wildcard), cmocka_unit_test(a_lost_host_costs_little),
        cmocka_unit_test(no_more_than_so_many_members),     cmocka_unit_test(names_stand_for_members),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
