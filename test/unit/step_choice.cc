// Which step a tool that names none is for: the only one there is, or none.
#include "server-glue/tool_access/step_choice.h"

#include "test/unit/check.h"

#include <algorithm>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const Error not_ours = error(ErrorKind::unsupported, "no pmixhost of yours serves it");
using Steps = std::vector<std::string>;

struct Choice : StepChoice {
    TimePoint now{};
    Steps on_list(const Steps &running, const std::set<std::string> &busy = {}) {
        return StepChoice::on_list(running, busy, now);
    }
    void on_failure(const std::string &step, const Error &why) { StepChoice::on_failure(step, why, now); }
};

void the_only_one_is_taken(void **) {
    Choice choice;
    choice.on_list({"1.0"});
    assert_true(choice.to_call() == Steps{"1.0"});
    assert_true(choice.to_call().empty());
    assert_false(choice.choice().has_value());
    choice.on_serving("1.0");
    assert_string_equal((**choice.choice()).c_str(), "1.0");
}

void what_no_pmixhost_serves_does_not_count(void **) {
    Choice choice;
    choice.on_list({"1.0", "2.0"});
    choice.to_call();
    choice.on_serving("2.0");
    assert_false(choice.choice().has_value());
    choice.on_failure("1.0", not_ours);
    assert_string_equal((**choice.choice()).c_str(), "2.0");
    choice.on_list({"1.0", "2.0"}); // and is not called again at once
    assert_true(choice.to_call().empty());
}

// Until its daemon listens, a step looks like one that no pmixhost serves.
void one_that_only_starts_is_called_again(void **) {
    Choice choice;
    choice.on_list({"1.0"});
    choice.to_call();
    choice.on_failure("1.0", not_ours);
    assert_true(choice.choice()->failure().kind == ErrorKind::not_found);
    choice.now += 9s;
    choice.on_list({"1.0"});
    assert_true(choice.to_call().empty());
    choice.now += 1s;
    choice.on_list({"1.0"});
    assert_true(choice.to_call() == Steps{"1.0"});
    assert_false(choice.choice().has_value()); // there is no other
    choice.on_serving("1.0");
    assert_string_equal((**choice.choice()).c_str(), "1.0");
    // One that is none of ours is called less and less, and keeps nobody from the one that serves.
    int calls = 0;
    choice.on_list({"1.0", "2.0"});
    choice.to_call();
    choice.on_failure("2.0", not_ours);
    for (int second = 0; second < 3600; ++second) {
        choice.now += 1s;
        choice.on_list({"1.0", "2.0"});
        auto called = choice.to_call();
        assert_string_equal((**choice.choice()).c_str(), "1.0");
        calls += !called.empty();
        for (const auto &each : called)
            choice.on_failure(each, not_ours);
    }
    assert_in_range(calls, 10, 20);
}

void of_several_none_is_taken(void **) {
    Choice choice;
    choice.on_list({"1.0", "2.0", "3.0"});
    choice.to_call();
    choice.on_serving("1.0");
    choice.on_serving("3.0");
    // The third one need not be waited for.
    assert_string_equal(
        choice.choice()->failure().text.c_str(),
        "the user has several steps that pmixhost serves (1.0, 3.0); next: `pmixhost with JOB[.STEP] -- "
        "TOOL`");
    // When all but one have ended, that one is meant.
    assert_true(choice.on_list({"3.0"}) == (Steps{"1.0", "2.0"}));
    assert_true(choice.to_call().empty());
    assert_string_equal((**choice.choice()).c_str(), "3.0");
    // A new one is called.
    choice.on_list({"3.0", "4.0"});
    assert_true(choice.to_call() == Steps{"4.0"});
    assert_false(choice.choice().has_value());
}

void without_one_it_says_why(void **) {
    Choice choice;
    choice.on_list({});
    assert_true(choice.choice()->failure().kind == ErrorKind::not_found);
    choice.on_list({"1.0", "2.0"});
    choice.to_call();
    choice.on_failure("1.0", error(ErrorKind::denied, "the rules"));
    choice.on_failure("2.0", error(ErrorKind::unreachable, "the network"));
    assert_string_equal(choice.choice()->failure().text.c_str(), "the rules");
    choice.on_list({"1.0", "2.0"}); // both are tried again
    assert_int_equal(choice.to_call().size(), 2);
}

void one_that_ends_is_not_the_choice(void **) {
    Choice choice;
    choice.on_list({"1.0"});
    choice.to_call();
    choice.on_serving("1.0");
    choice.on_failure("1.0", error(ErrorKind::unreachable, "it has ended"));
    assert_false(choice.choice()->ok());
    choice.on_list({});
    choice.on_serving("1.0"); // late
    assert_true(choice.choice()->failure().kind == ErrorKind::not_found);
}

void few_are_called_at_once_and_many_not_at_all(void **) {
    Choice choice;
    Steps many;
    for (std::size_t i = 0; i < StepChoice::most; ++i)
        many.push_back(std::to_string(i));
    choice.on_list(many);
    auto first = choice.to_call();
    assert_int_equal(first.size(), StepChoice::at_once);
    choice.on_failure(first[0], not_ours);
    assert_int_equal(choice.to_call().size(), 1);
    many.push_back("one more");
    choice.on_list(many);
    assert_true(choice.to_call().empty());
    assert_true(choice.choice()->failure().kind == ErrorKind::limit);
}

void many_steps_cut_no_tool_that_is_connected(void **) {
    Choice choice;
    choice.on_list({"a", "b"});
    choice.to_call();
    choice.on_serving("a");
    choice.on_failure("b", not_ours);
    Steps many;
    for (std::size_t i = 0; i <= StepChoice::most; ++i)
        many.push_back(std::to_string(i));
    assert_true(choice.on_list(many, {"a"}) == Steps{"b"});
    assert_true(choice.choice()->failure().kind == ErrorKind::limit);
    assert_true(choice.to_call().empty());
    // When they have gone it is the choice, without being called.
    assert_true(choice.on_list({"a"}, {"a"}).empty());
    assert_true(choice.to_call().empty());
    assert_string_equal((**choice.choice()).c_str(), "a");
    // One that has ended stays with its tools, and goes with the last of them.
    assert_true(choice.on_list({}, {"a"}).empty());
    assert_true(choice.on_list({}) == Steps{"a"});
}

void one_that_does_not_answer_keeps_no_other_from_being_taken(void **) {
    Choice choice;
    choice.on_list({"1.0", "2.0"});
    choice.to_call();
    choice.on_serving("1.0");
    assert_false(choice.choice().has_value());
    choice.on_failure("2.0", error(ErrorKind::timeout, "nothing came"));
    choice.on_list({"1.0", "2.0"});
    assert_true(choice.to_call() == Steps{"2.0"});
    assert_string_equal((**choice.choice()).c_str(), "1.0"); // while that is called again
    choice.on_serving("2.0");                                // at last
    assert_true(choice.choice()->failure().kind == ErrorKind::limit);
    // Nor while it is called for the first time, when tools have waited for it.
    choice.on_list({"1.0", "3.0"});
    assert_true(choice.to_call() == Steps{"3.0"});
    assert_false(choice.choice().has_value());
    choice.on_late();
    assert_string_equal((**choice.choice()).c_str(), "1.0");
    // Where no other serves it is waited for, as it may answer this time.
    choice.on_list({"3.0"});
    assert_false(choice.choice().has_value());
    // One that refuses may let tools in by now.
    choice.on_list({"1.0", "3.0"});
    choice.to_call();
    choice.on_serving("1.0");
    choice.on_failure("3.0", error(ErrorKind::denied, "the rules"));
    choice.on_list({"1.0", "3.0"});
    choice.to_call();
    assert_false(choice.choice().has_value());
}

void those_that_did_not_answer_are_called_last(void **) {
    Choice choice;
    Steps silent;
    for (std::size_t i = 0; i < StepChoice::at_once; ++i)
        silent.push_back(std::to_string(i));
    choice.on_list(silent);
    for (const auto &each : choice.to_call())
        choice.on_failure(each, error(ErrorKind::unreachable, "the network"));
    silent.push_back("z");
    choice.on_list(silent);
    auto called = choice.to_call();
    assert_string_equal(called.front().c_str(), "z");
}

void two_that_serve_are_enough(void **) {
    Choice choice;
    Steps many;
    for (std::size_t i = 10; i < 30; ++i)
        many.push_back(std::to_string(i));
    choice.on_list(many);
    assert_int_equal(choice.to_call().size(), StepChoice::at_once);
    for (const char *each : {"10", "11", "12", "13"})
        choice.on_serving(each);
    assert_true(choice.to_call().empty());
    assert_true(choice.surplus({"13"}) == (Steps{"11", "12"})); // a tool keeps one
    assert_true(choice.surplus({"13"}).empty());
    assert_true(choice.choice()->failure().kind == ErrorKind::limit);
    // When one of the two goes the others are looked at again.
    choice.on_failure("10", error(ErrorKind::unreachable, "it has ended"));
    auto called = choice.to_call();
    assert_true(std::find(called.begin(), called.end(), "11") != called.end());
    assert_false(choice.choice().has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_only_one_is_taken),
        cmocka_unit_test(what_no_pmixhost_serves_does_not_count),
        cmocka_unit_test(one_that_only_starts_is_called_again),
        cmocka_unit_test(of_several_none_is_taken),
        cmocka_unit_test(without_one_it_says_why),
        cmocka_unit_test(many_steps_cut_no_tool_that_is_connected),
        cmocka_unit_test(one_that_does_not_answer_keeps_no_other_from_being_taken),
        cmocka_unit_test(those_that_did_not_answer_are_called_last),
        cmocka_unit_test(two_that_serve_are_enough),
        cmocka_unit_test(one_that_ends_is_not_the_choice),
        cmocka_unit_test(few_are_called_at_once_and_many_not_at_all),
    };
    return cmocka_run_group_tests_name("the step of a tool", tests, nullptr, nullptr);
}
