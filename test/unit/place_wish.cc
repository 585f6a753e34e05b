// In which allocation a spawn request wants its job.
#include "server-glue/spawn/place_wish.h"
#include "server-glue/spawn/spawn_request.h"

#include <pmix.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

wire::SpawnDirective text(const char *key, const std::string &value, bool required = false) {
    return {key, required, static_cast<std::uint8_t>(SpawnValue::text), value, 0};
}
wire::SpawnDirective number(const char *key, std::uint64_t value) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::number), {}, value};
}
wire::SpawnDirective flag(const char *key, bool value = true) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, value ? 1u : 0u};
}
wire::SpawnRequest ask(std::vector<wire::SpawnDirective> directives, std::vector<int> counts = {1}) {
    wire::SpawnRequest request;
    request.directives = std::move(directives);
    for (int count : counts)
        request.apps.emplace_back().count = count;
    return request;
}
PlaceWish wish(wire::SpawnRequest request) {
    auto read = take_place_wish(request);
    if (auto *refusal = std::get_if<SpawnRefusal>(&read))
        fail_msg("%s", refusal->text.c_str());
    return std::get<PlaceWish>(read);
}
// What is wrong with it, in words.
std::string refusal(wire::SpawnRequest request) {
    auto read = take_place_wish(request);
    auto *refusal = std::get_if<SpawnRefusal>(&read);
    assert_non_null(refusal);
    assert_int_equal(refusal->status, PMIX_ERR_BAD_PARAM);
    return refusal->text;
}

void who_says_nothing_wants_nothing(void **) {
    auto request = ask({text(PMIX_HOST, "n1"), number(PMIX_TIMEOUT, 5)});
    assert_true(wish(request).says_nothing());
    take_place_wish(request);
    assert_int_equal(request.directives.size(), 2);
}

void an_allocation_is_named_by_either_attribute(void **) {
    assert_string_equal(wish(ask({text(PMIX_ALLOC_ID, "12")})).allocation.c_str(), "12");
    assert_string_equal(wish(ask({number(PMIX_SESSION_ID, 12)})).allocation.c_str(), "12");
    assert_string_equal(wish(ask({number(PMIX_SESSION_ID, 12), text(PMIX_ALLOC_ID, "12")})).allocation.c_str(), "12");
    assert_non_null(strstr(refusal(ask({number(PMIX_SESSION_ID, 12), text(PMIX_ALLOC_ID, "13")})).c_str(),
                           "different allocations"));
}

void a_new_one_is_described_as_for_an_allocation_request(void **) {
    auto request =
        ask({number(PMIX_ALLOC_NUM_NODES, 2), text(PMIX_ALLOC_NODE_LIST, "n[1-2]"), number(PMIX_ALLOC_NUM_CPUS, 8),
             number(PMIX_ALLOC_MEM_SIZE, 100), text(PMIX_ALLOC_QUEUE, "main"), number(PMIX_ALLOC_TIME, 61),
             text(PMIX_ALLOC_REQ_ID, "mine"), text(PMIX_HOST, "n1")},
            {3});
    auto read = take_place_wish(request);
    auto wanted = std::get<PlaceWish>(read);
    assert_true(wanted.new_one && wanted.allocation.empty() && !wanted.is_required);
    assert_true(wanted.new_one->kind == RmAllocation::Kind::create);
    assert_int_equal(wanted.new_one->hosts, 2);
    assert_string_equal(wanted.new_one->host_list.c_str(), "n[1-2]");
    assert_int_equal(wanted.new_one->cpus, 8);
    assert_int_equal(wanted.new_one->megabytes, 100);
    assert_string_equal(wanted.new_one->queue.c_str(), "main");
    assert_int_equal(wanted.new_one->seconds, 61);
    assert_string_equal(wanted.new_one->name.c_str(), "mine");
    assert_int_equal(request.directives.size(), 1); // what is not about it stays
}

void without_a_number_of_processors_there_is_one_for_each_process(void **) {
    assert_int_equal(wish(ask({number(PMIX_ALLOC_NUM_NODES, 2)}, {3, 4})).new_one->cpus, 7);
    assert_int_equal(wish(ask({number(PMIX_ALLOC_NUM_NODES, 2)}, {-1})).new_one->cpus, 0); // refused later
}

void one_of_both_is_given(void **) {
    assert_non_null(
        strstr(refusal(ask({text(PMIX_ALLOC_ID, "12"), number(PMIX_ALLOC_TIME, 60)})).c_str(), "give one of both"));
}

void values_that_make_no_sense_are_named(void **) {
    for (const auto &bad :
         {number(PMIX_ALLOC_ID, 12), text(PMIX_ALLOC_ID, ""), text(PMIX_ALLOC_ID, "1 2"), text(PMIX_ALLOC_ID, "1\n"),
          text(PMIX_SESSION_ID, "12"), number(PMIX_SESSION_ID, 0), number(PMIX_ALLOC_NUM_NODES, 0),
          number(PMIX_ALLOC_NUM_CPUS, std::uint64_t{1} << 40), text(PMIX_ALLOC_TIME, "60"), flag(PMIX_ALLOC_QUEUE),
          text(PMIX_ALLOC_QUEUE, std::string(2000, 'q'))})
        assert_non_null(strstr(refusal(ask({bad})).c_str(), bad.key.c_str()));
}

void what_is_required_is_noted(void **) {
    assert_true(wish(ask({text(PMIX_ALLOC_QUEUE, "main", true)})).is_required);
}

void what_must_have_an_effect_is_told_from_what_may_be_passed_over(void **) {
    assert_false(requires_place(ask({text(PMIX_ALLOC_REQ_ID, "not a word"), number(PMIX_SESSION_ID, 0)})));
    assert_false(requires_place(ask({text(PMIX_HOST, "n1", true)}))); // which is no word about allocations
    assert_true(requires_place(ask({text(PMIX_ALLOC_ID, "", true)})));
    assert_true(requires_place(ask({number(PMIX_ALLOC_TIME, 5), text(PMIX_ALLOC_QUEUE, "night", true)})));
}

void the_limit_of_the_start_is_said_in_two_ways(void **) {
    assert_int_equal(start_limit_of(ask({})), 0);
    assert_int_equal(start_limit_of(ask({number(PMIX_TIMEOUT, 5)})), 5);
    auto request = ask({number(PMIX_SPAWN_TIMEOUT, 7), text(PMIX_HOST, "n1")});
    assert_int_equal(start_limit_of(request), 7);
    take_from_start_limit(request, std::chrono::milliseconds(3999));
    assert_int_equal(start_limit_of(request), 4);
    take_from_start_limit(request, std::chrono::seconds(-1));
    assert_int_equal(start_limit_of(request), 4);
    take_from_start_limit(request, std::chrono::seconds(100));
    assert_int_equal(start_limit_of(request), 1); // none would be no limit
    auto without = ask({text(PMIX_HOST, "n1")});
    take_from_start_limit(without, std::chrono::seconds(1));
    assert_int_equal(start_limit_of(without), 0);
    assert_int_equal(start_limit_of(ask({number(PMIX_TIMEOUT, UINT64_MAX)})), 366 * 86'400);
}

void nohup_may_be_said_of_a_part(void **) {
    assert_false(says_nohup(ask({flag(PMIX_NOHUP, false)})));
    assert_true(says_nohup(ask({flag(PMIX_NOHUP)})));
    auto request = ask({}, {1, 1});
    request.apps[1].directives.push_back(flag(PMIX_NOHUP));
    assert_true(says_nohup(request));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_says_nothing_wants_nothing),
        cmocka_unit_test(an_allocation_is_named_by_either_attribute),
        cmocka_unit_test(a_new_one_is_described_as_for_an_allocation_request),
        cmocka_unit_test(without_a_number_of_processors_there_is_one_for_each_process),
        cmocka_unit_test(one_of_both_is_given),
        cmocka_unit_test(values_that_make_no_sense_are_named),
        cmocka_unit_test(what_is_required_is_noted),
        cmocka_unit_test(what_must_have_an_effect_is_told_from_what_may_be_passed_over),
        cmocka_unit_test(the_limit_of_the_start_is_said_in_two_ways),
        cmocka_unit_test(nohup_may_be_said_of_a_part),
    };
    return cmocka_run_group_tests_name("the place of a spawned job", tests, nullptr, nullptr);
}
