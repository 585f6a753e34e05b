// Who gets what processes had posted when their host leaves before the others, and which host is asked for it.
#include "server-glue/modex/posted_heirs.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

// Rank n lives on host n % hosts; a tree of radix 2.
struct World {
    explicit World(HostIndex hosts, Rank ranks = 0) {
        std::vector<std::string> names;
        std::vector<std::vector<Rank>> on(hosts);
        for (HostIndex h = 0; h < hosts; ++h)
            names.push_back("n" + std::to_string(h));
        for (Rank rank = 0; rank < (ranks ? ranks : hosts); ++rank)
            on[rank % hosts].push_back(rank);
        map = std::make_unique<JobMap>(*JobMap::create(names, on));
    }
    PostedHeirs at(HostIndex self) { return {*map, self, 2}; }
    std::unique_ptr<JobMap> map;
};

auto only(std::set<HostIndex> hosts) {
    return [hosts](HostIndex host) { return hosts.contains(host); };
}

void the_nearest_ancestor_that_is_there(void **) {
    World world(15);
    auto heirs = world.at(12);
    assert_int_equal(heirs.heir_of(12), 5);
    assert_int_equal(heirs.heir_of(7), 3);
    heirs.left(5);
    assert_int_equal(heirs.heir_of(12), 2);
    heirs.lost(2);
    assert_int_equal(heirs.heir_of(12), 0);
    heirs.left(0);
    assert_int_equal(heirs.heir_of(12), 1); // the lowest of all
    heirs.left(1);
    assert_int_equal(heirs.heir_of(12), 3);
    assert_int_equal(heirs.heir_of(3), 4); // not itself
    assert_int_equal(heirs.heir_of(0), 3);
}

void nobody_is_left(void **) {
    World world(3);
    auto heirs = world.at(2);
    heirs.left(0);
    assert_int_equal(heirs.heir_of(2), 1);
    heirs.left(1);
    assert_int_equal(heirs.heir_of(2), no_host);
    assert_int_equal(heirs.heir_of(1), 2);
    World alone(1);
    assert_int_equal(alone.at(0).heir_of(0), no_host);
}

void a_host_whose_processes_have_all_ended_has_left(void **) {
    World world(3, 6);
    auto heirs = world.at(0);
    heirs.ended_normally(1, 2);
    assert_false(heirs.has_left(1));
    heirs.ended_normally(4, 4);
    assert_true(heirs.has_left(1));
    assert_false(heirs.has_left(2));
    heirs.lost(2);
    assert_false(heirs.has_left(2));
    assert_true(heirs.is_gone(2));
}

// All who leave in any order, each handing over: what the first one had is always where it is looked for.
void it_is_where_everyone_looks_for_it(void **) {
    constexpr HostIndex hosts = 12;
    for (unsigned seed = 0; seed < 500; ++seed) {
        World world(hosts);
        std::vector<PostedHeirs> at;
        for (HostIndex h = 0; h < hosts; ++h)
            at.push_back(world.at(h));
        std::srand(seed);
        std::vector<HostIndex> order(hosts);
        for (HostIndex h = 0; h < hosts; ++h)
            order[h] = h;
        for (HostIndex h = hosts; h > 1; --h)
            std::swap(order[h - 1], order[static_cast<HostIndex>(std::rand()) % h]);
        for (std::size_t i = 0; i + 1 < hosts; ++i) {
            HostIndex leaver = order[i], heir = at[leaver].heir_of(leaver);
            assert_int_not_equal(heir, no_host);
            assert_true(at[heir].keep(leaver, "posted " + std::to_string(leaver)));
            for (const auto &[rank, data] : at[leaver].all_kept())
                assert_true(rank == heir || at[heir].keep(rank, data));
            for (auto &each : at)
                each.left(leaver);
            for (std::size_t gone = 0; gone <= i; ++gone) {
                for (std::size_t asker = i + 1; asker < hosts; ++asker) {
                    HostIndex asked = at[order[asker]].heir_of(order[gone]);
                    auto *found = at[asked].kept(order[gone]);
                    assert_non_null(found);
                    assert_string_equal(found->c_str(), ("posted " + std::to_string(order[gone])).c_str());
                }
            }
        }
    }
}

void what_is_on_its_way_is_waited_for(void **) {
    World world(15);
    auto heirs = world.at(2);                                    // its children are 5 and 6, below 5 are 11 and 12
    assert_true(heirs.may_still_come(12, only({12})));           // it has not said farewell
    assert_true(heirs.may_still_come(12, only({5})));            // perhaps it has it
    assert_false(heirs.may_still_come(12, only({0, 1, 6, 14}))); // these come behind us in its line
    auto last = world.at(4); // no ancestor of 12: gets it when all of those are gone
    assert_true(last.may_still_come(12, only({0})));
    assert_true(last.may_still_come(12, only({3})));
    assert_false(last.may_still_come(12, only({6, 7})));
}

void what_is_kept_is_bounded(void **) {
    World world(2, 6); // ranks 1, 3 and 5 on the other host
    auto heirs = world.at(0);
    assert_false(heirs.keep(0, "own"));
    assert_false(heirs.keep(6, "nobody's"));
    assert_true(heirs.keep(1, std::string(PostedHeirs::max_bytes - 10, 'x')));
    assert_false(heirs.keep(3, std::string(11, 'x')));
    assert_null(heirs.kept(3));
    assert_true(heirs.keep(3, std::string(10, 'x')));
    assert_true(heirs.keep(1, "smaller"));
    assert_true(heirs.keep(5, std::string(11, 'x')));
    assert_string_equal(heirs.kept(1)->c_str(), "smaller");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_ancestor_that_is_there),
        cmocka_unit_test(nobody_is_left),
        cmocka_unit_test(a_host_whose_processes_have_all_ended_has_left),
        cmocka_unit_test(it_is_where_everyone_looks_for_it),
        cmocka_unit_test(what_is_on_its_way_is_waited_for),
        cmocka_unit_test(what_is_kept_is_bounded),
    };
    return cmocka_run_group_tests_name("heirs of what was posted", tests, nullptr, nullptr);
}
