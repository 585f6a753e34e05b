// What `pmixhost run` makes of the ends of its tasks: the report for the user and the exit code, which are srun's; and
// what Ctrl-C means.
#include "tools/run/job_ends.h"
#include "tools/run/interrupts.h"

#include "test/unit/check.h"

#include <csignal>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

constexpr int code(int number) {
    return number << 8; // as waitpid(2) has it
}

// Ranks 0 and 1 on a, 2 and 3 on b.
JobEnds two_hosts() {
    return JobEnds({"a", "b"}, {{0, 1}, {2, 3}});
}

void expect(const Lines &lines, const Lines &wanted) {
    for (const auto &line : lines)
        print_message("# %s\n", line.c_str());
    assert_true(lines == wanted);
}

void test_what_belongs_to_a_host(void **) {
    JobEnds ends = two_hosts();
    assert_true(ends.is_of(0, 1));
    assert_false(ends.is_of(0, 2)); // another one's
    assert_false(ends.is_of(1, 4)); // nobody's
    assert_true(ends.none_started(1));
    ends.started(2);
    ends.started(2); // said twice
    assert_false(ends.all_started(1));
    assert_false(ends.none_started(1)); // what it has written may still be with the daemon
    ends.started(3);
    assert_true(ends.all_started(1));
    assert_false(ends.all_started(0));
    assert_true(ends.none_started(0));
    assert_true(ends.ended(2, 0, false));
    assert_false(ends.ended(2, SIGKILL, false));
    assert_true(ends.any_left(1));
    assert_int_equal(ends.left(), 3);
    assert_true(ends.ended(3, 0, false));
    assert_false(ends.any_left(1));
    assert_int_equal(ends.exit_code(), 0);
    assert_false(JobEnds({"a", "b"}, {{0}, {}}).none_started(1)); // of no task there is none to miss
}

void test_ends_are_told_together(void **) {
    JobEnds ends = two_hosts();
    ends.ended(3, code(2), false);
    ends.ended(1, SIGSEGV, false);
    ends.ended(2, code(2), false);
    ends.ended(0, 0, false);
    expect(ends.take_report(),
           {"error: a: task 1: Segmentation fault", "error: b: tasks 2-3: Exited with exit code 2"});
    expect(ends.take_report(), {});
}

void test_who_does_not_begin_is_told_with_the_reason(void **) {
    JobEnds ends = two_hosts();
    for (Rank rank : {1, 0})
        ends.not_started(rank, "cannot execute x: No such file or directory");
    ends.not_started(2, "cannot start a task: fork: Resource temporarily unavailable");
    ends.ended(2, code(1), false);
    expect(ends.take_report(), {"error: a: tasks 0-1: cannot execute x: No such file or directory",
                                "error: b: task 2: cannot start a task: fork: Resource temporarily unavailable",
                                "error: b: task 2: Exited with exit code 1"});
}

void test_ends_that_were_ordered_are_no_news(void **) {
    JobEnds ends = two_hosts();
    ends.ended(0, SIGTERM, true);
    ends.ended(1, code(6), true);
    expect(ends.take_report(), {"error: a: task 1: Exited with exit code 6"});
    assert_int_equal(ends.exit_code(), 6);
}

void test_the_exit_code_is_sruns(void **) {
    {
        JobEnds ends = two_hosts();
        ends.ended(0, SIGKILL, false);
        assert_int_equal(ends.exit_code(), 128 + SIGKILL);
        ends.ended(1, code(4), false); // a code goes before a signal
        ends.ended(2, code(3), false);
        assert_int_equal(ends.exit_code(), 4);
    }
    JobEnds ends = two_hosts();
    ends.ended(0, code(4), false);
    assert_true(ends.decide(0)); // an abort with status 0
    assert_false(ends.decide(124));
    assert_int_equal(ends.exit_code(), 0);
}

void test_the_states_of_all(void **) {
    JobEnds ends = two_hosts();
    for (Rank rank : {0, 1, 3})
        ends.started(rank);
    ends.ended(1, 0, false);
    expect(ends.states(), {"task 2: starting", "tasks 0,3: running", "task 1: exited"});
}

void test_what_ctrl_c_means(void **) {
    using Means = Interrupts::Means;
    const TimePoint start{};
    {
        Interrupts interrupts; // a clock may begin at any time
        assert_true(interrupts.next(start, false) == Means::tell);
        assert_true(interrupts.next(start + 1s, false) == Means::tell);
        assert_true(interrupts.next(start + 1900ms, false) == Means::end);
        assert_true(interrupts.next(start + 2500ms, true) == Means::kill);
    }
    Interrupts interrupts;
    assert_true(interrupts.next(start, true) == Means::tell); // ended for another reason
    assert_true(interrupts.next(start + 500ms, true) == Means::kill);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_what_belongs_to_a_host),
        cmocka_unit_test(test_ends_are_told_together),
        cmocka_unit_test(test_who_does_not_begin_is_told_with_the_reason),
        cmocka_unit_test(test_ends_that_were_ordered_are_no_news),
        cmocka_unit_test(test_the_exit_code_is_sruns),
        cmocka_unit_test(test_the_states_of_all),
        cmocka_unit_test(test_what_ctrl_c_means),
    };
    return cmocka_run_group_tests_name("job_ends", tests, nullptr, nullptr);
}
