// Which groups a host knows, and what their names stand for.
#include "server-glue/group_registry.h"

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
    assert_true(
        registry.add({"red", {one("a", 1)}, std::nullopt, false})); // the name is used again
    assert_int_equal(registry.all().size(), 2);
    assert_int_equal(registry.find("red")->members.size(), 1);
    assert_true(registry.remove("red"));
    assert_false(registry.remove("red"));
    assert_null(registry.find("red"));
}

void of_a_process(void **) {
    GroupRegistry registry = two_groups();
    assert_int_equal(registry.of("a", 3).size(), 2);
    assert_int_equal(registry.of("a", 1).size(), 1);
    assert_string_equal(registry.of("b", 1)[0]->name.c_str(), "red");
    assert_int_equal(registry.of("b", 0).size(), 0);
}

void members_leave(void **) {
    GroupRegistry registry = two_groups();
    registry.remove_member("red", "a", 3);
    assert_string_equal(text_of(registry.expand({all("red")})).c_str(), "a0 b1 ");
    registry.remove_member("red", "a", 0);
    registry.remove_member("red", "b", 1);
    assert_null(registry.find("red")); // nobody is left
    registry.remove_member("green", "b", 1);
}

void names_stand_for_members(void **) {
    GroupRegistry registry = two_groups();
    assert_string_equal(text_of(registry.expand({one("c", 5), all("red"), all("c")})).c_str(),
                        "c5 a0 a3 b1 c* ");
    assert_string_equal(text_of(registry.expand({one("red", 2), one("red", 1)})).c_str(), "b1 a3 ");
    assert_string_equal(text_of(registry.expand({one("red", 3)})).c_str(), "error");
    assert_string_equal(text_of(registry.expand({all("blue")})).c_str(), "a* ");
    assert_string_equal(text_of(GroupRegistry().expand({all("red")})).c_str(), "red* ");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(known_from_add_to_remove),
        cmocka_unit_test(of_a_process),
        cmocka_unit_test(members_leave),
        cmocka_unit_test(names_stand_for_members),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
