// What the parts of a group's hosts come to, and context ids.
#include "server-glue/groups/group_parts.h"

#include <set>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

wire::GroupPart part(const char *nspace, HostIndex host) {
    wire::GroupPart out;
    out.nspace = nspace;
    out.host = host;
    out.endpoints = nspace + std::to_string(host) + " ";
    return out;
}

void ids_are_never_given_twice(void **) {
    std::set<std::uint64_t> seen;
    for (std::uint32_t step : {0u, 1u, 0xffffffu}) {
        for (HostIndex host : {0u, 1u, 0xffffu}) {
            ContextIds ids(step, host);
            for (int i = 0; i < 1000; ++i) {
                auto id = ids.next();
                assert_true(id != 0 && id != UINT64_MAX);
                assert_true(seen.insert(id).second);
            }
        }
    }
    assert_true(ContextIds(0, 0).next() == 1); // fits where little room is
}

void ids_run_out(void **) {
    assert_true(ContextIds(1u << ContextIds::step_bits, 0).next() == 0);
    assert_true(ContextIds(0, 1u << ContextIds::host_bits).next() == 0);
    ContextIds ids(7, 7);
    std::uint64_t id = 0, last = 0, count = 0;
    while ((id = ids.next()) != 0) {
        assert_true(id > last);
        last = id;
        ++count;
    }
    assert_true(count == (1u << ContextIds::counter_bits) - 1);
    assert_true(ids.next() == 0);
}

void the_order_of_parts_does_not_matter(void **) {
    wire::GroupPart a = part("a", 3), b = part("a", 1), c = part("b", 0);
    b.context_id = 11;
    c.context_id = 12;
    a.gone = {6};
    c.gone = {1}; // another namespace's
    a.wants_context = 1;
    c.posted = wire::encode(wire::PostedData{4, "", "four"}) + wire::encode(wire::PostedData{5, "", "five"});
    Bytes x = wire::encode(a), y = wire::encode(b), z = wire::encode(c);
    for (const Bytes &order : {x + y + z, z + y + x, y + z + x}) {
        auto parts = merge_group_parts(order, "a");
        assert_true(parts.ok());
        assert_true(parts->context_id == 11u);
        assert_string_equal(parts->endpoints.c_str(), "a1 a3 ");
        assert_true(parts->hosts == (std::set<HostIndex>{1, 3}));
        assert_true(parts->gone == std::set<Rank>{6});
        assert_int_equal(parts->posted.size(), 2);
        assert_string_equal(parts->posted[1].data.c_str(), "five");
        assert_int_equal(parts->posted[1].rank, 5);
        assert_true(merge_group_parts(order, "b")->context_id == 11u); // the same for all
    }
}

void no_id_unless_wanted(void **) {
    wire::GroupPart a = part("a", 0);
    a.context_id = 5;
    assert_false(merge_group_parts(wire::encode(a), "a")->context_id.has_value());
    a.context_id = 0;
    a.wants_context = 1;
    auto none_left = merge_group_parts(wire::encode(a), "a");
    assert_true(!none_left && none_left.failure().kind == ErrorKind::limit);
}

void garbage_is_refused(void **) {
    Bytes good = wire::encode(part("a", 0));
    for (std::size_t size = 1; size < good.size(); ++size)
        assert_false(merge_group_parts(good.substr(0, size), "a").ok());
    assert_true(merge_group_parts("", "a").ok());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_never_given_twice),
        cmocka_unit_test(ids_run_out),
        cmocka_unit_test(the_order_of_parts_does_not_matter),
        cmocka_unit_test(no_id_unless_wanted),
        cmocka_unit_test(garbage_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
