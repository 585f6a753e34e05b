// What a tool has paused of a job, until somebody lets it go on.
#include "server-glue/control/tool_pauses.h"

#include "test/unit/check.h"

#include <csignal>

using namespace pmixhost;

namespace {

const Process tool{"tool", 0, false}, other{"other", 0, false}, all{"job", 0, true};
Process one(Rank rank) {
    return {"job", rank, false};
}
std::string text(const std::vector<Process> &targets) {
    std::string out;
    for (const Process &each : targets)
        out += each.nspace + (each.wildcard ? " all" : " " + std::to_string(each.rank)) + ";";
    return out;
}
// It is asked for, and done.
void let_go_on(ToolPauses &pauses, const Process &by, bool is_tool, const std::vector<Process> &targets,
               const std::vector<std::int32_t> &signals = {SIGCONT}) {
    auto resume = pauses.note(by, is_tool, targets, signals);
    assert_true(resume.has_value());
    pauses.went_on(*resume);
}
std::string taken(ToolPauses &pauses, const Process &of, const Bytes &nspace = "job") {
    return text(pauses.take(of, nspace));
}

void what_a_tool_has_paused_is_its_own(void **) {
    ToolPauses pauses;
    pauses.note(tool, true, {one(3), one(1)}, {SIGSTOP});
    assert_string_equal(taken(pauses, tool, "another").c_str(), "");
    assert_string_equal(taken(pauses, other).c_str(), "");
    assert_string_equal(taken(pauses, tool).c_str(), "job 1;job 3;");
    assert_string_equal(taken(pauses, tool).c_str(), "");
    pauses.note(other, true, {all}, {SIGTERM, SIGSTOP});
    assert_string_equal(taken(pauses, other).c_str(), "job all;");
}

void what_another_one_has_paused_too_stays(void **) {
    ToolPauses pauses;
    pauses.note(tool, true, {one(3), one(1)}, {SIGSTOP});
    pauses.note(other, true, {one(3), one(4)}, {SIGSTOP});
    assert_string_equal(taken(pauses, tool).c_str(), "job 1;");
    assert_string_equal(taken(pauses, other).c_str(), "job 3;job 4;");
    pauses.note(tool, true, {one(1)}, {SIGSTOP});
    pauses.note(other, true, {all}, {SIGSTOP});
    assert_string_equal(taken(pauses, tool).c_str(), "");
}

void other_signals_and_processes_pause_nothing_for_it(void **) {
    ToolPauses pauses;
    pauses.note(tool, true, {all}, {SIGUSR1, SIGTERM});
    pauses.note(tool, false, {all}, {SIGSTOP}); // a process of a job
    assert_string_equal(taken(pauses, tool).c_str(), "");
}

void whoever_lets_go_on_lets_go_on(void **) {
    ToolPauses pauses;
    pauses.note(tool, true, {one(1), one(2)}, {SIGSTOP});
    let_go_on(pauses, other, true, {one(1)});
    assert_string_equal(taken(pauses, tool).c_str(), "job 2;");
    pauses.note(tool, true, {one(1), one(2)}, {SIGSTOP});
    let_go_on(pauses, other, false, {all});
    assert_string_equal(taken(pauses, tool).c_str(), "");
    pauses.note(tool, true, {all}, {SIGSTOP});
    let_go_on(pauses, tool, true, {one(1)}); // the others stand
    assert_string_equal(taken(pauses, tool).c_str(), "job all;");
    pauses.note(tool, true, {all}, {SIGSTOP});
    let_go_on(pauses, tool, true, {all}, {SIGSTOP, SIGCONT, SIGUSR1});
    assert_string_equal(taken(pauses, tool).c_str(), "");
    for (const auto &whom : {std::vector<Process>{}, std::vector<Process>{all}}) { // a debugger's release
        pauses.note(tool, true, {one(1)}, {SIGSTOP});
        assert_true(pauses.any());
        pauses.go_on(whom);
        assert_false(pauses.any());
    }
}

// What lets go on may fail, and take its time.
void what_is_let_go_on_has_to_be_done(void **) {
    ToolPauses pauses;
    assert_false(pauses.note(tool, true, {all}, {SIGCONT}).has_value()); // there is nothing
    pauses.note(tool, true, {one(1)}, {SIGSTOP});
    assert_true(pauses.note(other, true, {all}, {SIGCONT}).has_value()); // which fails
    assert_string_equal(taken(pauses, tool).c_str(), "job 1;");
    pauses.note(tool, true, {one(1)}, {SIGSTOP});
    auto resume = pauses.note(tool, true, {all}, {SIGCONT});
    assert_true(resume.has_value());
    pauses.note(other, true, {one(2)}, {SIGSTOP});
    pauses.went_on(*resume);
    assert_string_equal(taken(pauses, tool).c_str(), "");
    assert_string_equal(taken(pauses, other).c_str(), "job 2;"); // was paused after that
    pauses.note(tool, true, {one(1)}, {SIGSTOP});
    resume = pauses.note(tool, true, {one(1)}, {SIGCONT});
    pauses.note(tool, true, {one(2)}, {SIGSTOP});
    pauses.went_on(*resume);
    assert_string_equal(taken(pauses, tool).c_str(), "job 2;");
    pauses.note(tool, true, {all, one(1), {"another", 0, true}}, {SIGSTOP});
    let_go_on(pauses, other, true, {}); // everybody
    assert_false(pauses.any());
    assert_false(pauses.note(tool, true, {all}, {SIGCONT, SIGSTOP}).has_value());
    assert_string_equal(taken(pauses, tool).c_str(), "job all;");
}

void it_is_bounded(void **) {
    ToolPauses pauses;
    for (Rank rank = 0; rank <= ToolPauses::most_ranks; ++rank)
        pauses.note(tool, true, {one(rank)}, {SIGSTOP});
    assert_string_equal(taken(pauses, tool).c_str(), "job all;");
    for (std::size_t i = 0; i <= ToolPauses::most_jobs; ++i)
        pauses.note(tool, true, {{"job" + std::to_string(i), 0, true}}, {SIGSTOP});
    assert_string_equal(taken(pauses, tool, "job0").c_str(), "");
    assert_string_equal(taken(pauses, tool, "job1").c_str(), "job1 all;");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_tool_has_paused_is_its_own),
        cmocka_unit_test(what_another_one_has_paused_too_stays),
        cmocka_unit_test(other_signals_and_processes_pause_nothing_for_it),
        cmocka_unit_test(whoever_lets_go_on_lets_go_on),
        cmocka_unit_test(what_is_let_go_on_has_to_be_done),
        cmocka_unit_test(it_is_bounded),
    };
    return cmocka_run_group_tests_name("tool_pauses", tests, nullptr, nullptr);
}
