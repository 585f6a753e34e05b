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
    pauses.note(other, true, {one(1)}, {SIGCONT});
    assert_string_equal(taken(pauses, tool).c_str(), "job 2;");
    pauses.note(tool, true, {one(1), one(2)}, {SIGSTOP});
    pauses.note(other, false, {all}, {SIGCONT});
    assert_string_equal(taken(pauses, tool).c_str(), "");
    pauses.note(tool, true, {all}, {SIGSTOP});
    pauses.note(tool, true, {one(1)}, {SIGCONT}); // the others stand
    assert_string_equal(taken(pauses, tool).c_str(), "job all;");
    pauses.note(tool, true, {all}, {SIGSTOP, SIGCONT});
    assert_string_equal(taken(pauses, tool).c_str(), "");
    for (const auto &whom : {std::vector<Process>{}, std::vector<Process>{all}}) { // a debugger's release
        pauses.note(tool, true, {one(1)}, {SIGSTOP});
        assert_true(pauses.any());
        pauses.go_on(whom);
        assert_false(pauses.any());
    }
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
        cmocka_unit_test(it_is_bounded),
    };
    return cmocka_run_group_tests_name("tool_pauses", tests, nullptr, nullptr);
}
