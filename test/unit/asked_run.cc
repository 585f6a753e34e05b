// What a desk runs for other users, and what is said about it at the gate's door: which commands, which words of each,
// and what is neither.
#include "common/rendezvous/asked_run.h"
#include "common/policy/others_jobs.h"
#include "common/rendezvous/gate_door.h"

#include "test/unit/check.h"

#include <cstring>
#include <fmt/ranges.h>

using namespace pmixhost;
using policy::Action;

namespace {

void each_command_takes_its_action(void **) {
    const std::pair<const char *, Action> known[] = {{"ps", Action::observe},     {"events", Action::observe},
                                                     {"get", Action::observe},    {"output", Action::output},
                                                     {"signal", Action::control}, {"kill", Action::control},
                                                     {"pause", Action::control},  {"resume", Action::control}};
    std::uint8_t actions = 0;
    for (const auto &[command, action] : known) {
        actions |= bit_of(action);
        auto found = action_of({command, {}});
        if (!found || *found != action)
            fail_msg("%s", command);
    }
    assert_int_equal(actions, policy::by_commands); // as it is explained
    for (const char *command : {"", "with", "attach", "debug", "spawn", "run", "stacks", "lookup", "publish",
                                "unpublish", "config", "policy", "PS", "ps ", "--help", "/bin/sh", "../pmixhost"}) {
        auto found = action_of({command, {}});
        if (found || found.failure().kind != ErrorKind::unsupported || check_run({command, {}}).ok())
            fail_msg("'%s'", command);
    }
}

void the_words_of_each_command(void **) {
    const AskedRun right[] = {
        {"ps", {}},
        {"ps", {"--json", "--timeout=10"}},
        {"events", {"--kind=exit,abort,PMIX_EVENT_JOB_END,-25", "--json"}},
        {"get", {"0", "pmix.job.size"}},
        {"get", {"--timeout=3600", "*", "a key"}},
        {"output", {"--rank=0,2-5", "--label", "--stderr"}},
        {"output", {"--since=5m"}},
        {"output", {"--since=0"}},
        {"output", {"--wait=600"}},
        {"signal", {"--signal=USR1", "--ranks=0"}},
        {"kill", {"--timeout=1"}},
        {"pause", {"--ranks=0-3,7"}},
        {"resume", {}},
    };
    for (const auto &each : right) {
        if (auto checked = check_run(each); !checked)
            fail_msg("%s: %s", text_of(each, "12").c_str(), checked.failure().text.c_str());
    }
    const AskedRun wrong[] = {
        {"ps", {"-w"}},
        {"ps", {"--watch"}},
        {"ps", {"-a"}},
        {"ps", {"--all-hosts"}},
        {"ps", {"13"}}, // another job
        {"ps", {"--json=1"}},
        {"ps", {"--json", "--", "13"}},
        {"ps", {"--timeout"}},
        {"ps", {"--timeout="}},
        {"ps", {"--timeout=0"}},
        {"ps", {"--timeout=3601"}},
        {"ps", {"--timeout=99999999999999999999"}},
        {"ps", {"--timeout=+1"}},
        {"ps", {"--ranks=1"}},
        {"ps", {"--help"}},
        {"ps", {"--config=/etc/passwd"}},
        {"events", {"--kind=a b"}},
        {"events", {"--kind=/tmp/x"}},
        {"events", {"--kind="}},
        {"get", {}},
        {"get", {"0"}},
        {"get", {"0", "key", "more"}},
        {"get", {"0", "--json"}},
        {"get", {"-1", "key"}},
        {"get", {"zero", "key"}},
        {"get", {"0", "key\n"}},
        {"output", {"--take-over"}},
        {"output", {"--wait=soon"}},
        {"output", {"--wait=99999999"}},
        {"output", {"--since=5d"}},
        {"output", {"--since="}},
        {"output", {"--since"}},
        {"output", {"--since=-5"}},
        {"output", {"--since=745h"}},
        {"output", {"--since=4294967295h"}},
        {"output", {"--rank=all"}},
        {"output", {"-l"}},
        {"output", {"--host=elsewhere"}},
        {"signal", {"--signal=9 --ranks=0"}},
        {"signal", {"--signal=../9"}},
        {"kill", {"--signal=9"}},
        {"kill", {"--ranks=@file"}},
        {"kill", {"-"}},
        {"kill", {"--"}},
        {"kill", {"--", "13"}},
    };
    for (const auto &each : wrong) {
        if (check_run(each).ok())
            fail_msg("%s", text_of(each, "12").c_str());
    }
    auto unknown = check_run({"ps", {"--file=/etc/passwd"}});
    assert_true(unknown.failure().kind == ErrorKind::unsupported);
    assert_non_null(strstr(unknown.failure().text.c_str(), "'--file'"));
    assert_false(check_run({"ps", std::vector<std::string>(AskedRun::most_words + 1, "--json")}).ok());
    assert_false(check_run({"kill", {"--ranks=" + std::string(AskedRun::longest_word, '1')}}).ok());
}

void the_job_is_no_option(void **) {
    auto line = command_line({"get", {"--timeout=5", "*", "key"}}, "--config=x");
    assert_string_equal(fmt::format("{}", fmt::join(line, "|")).c_str(), "get|--timeout=5|--|--config=x|*|key");
    assert_string_equal(text_of({"kill", {"--ranks=0"}}, "12.0").c_str(), "pmixhost kill 12.0 '--ranks=0'");
}

void who_has_asked(void **) {
    auto by = parse_asked_by(asked_by_text({60002, Action::control}));
    assert_true(by.ok() && by->user == 60002 && by->action == Action::control);
    for (const char *text :
         {"", "1", "1 ", "x observe", "-1 observe", "1 everything", "1  observe", "4294967296 observe"}) {
        if (parse_asked_by(text).ok())
            fail_msg("'%s'", text);
    }
}

void what_is_said_at_the_door(void **) {
    auto visit = parse_visit(visit_word({4711, "12.0"}));
    assert_true(visit.ok() && visit->user == 4711 && visit->job == "12.0" && !visit->run);
    Visit wish{4711, "12.0", AskedRun{"get", {"--timeout=5", "*", "a key"}}};
    auto run = parse_visit(visit_word(wish));
    assert_true(run.ok() && run->user == 4711 && run->job == "12.0" && run->run);
    assert_string_equal(run->run->command.c_str(), "get");
    assert_true(run->run->words == wish.run->words);
    wish.run->words.assign(AskedRun::most_words, "--json");
    assert_int_equal(parse_visit(visit_word(wish))->run->words.size(), AskedRun::most_words);
    wish.run->words.assign(8, std::string(AskedRun::longest_word, 'x'));
    assert_true(parse_visit(visit_word(wish)).ok());
}

void what_is_no_wish(void **) {
    for (const char *word : {"run",
                             "run ",
                             "run 1",
                             "run 1 ",
                             "run 1 12",
                             "run 1 12\n",
                             "run 1 12\n\n",
                             "run 1 12\nps\n",
                             "run 1 12\n\nps",
                             "run 1 12\nps\n\n--json",
                             "run 1 1 2\nps",
                             "run 1 -12\nps",
                             "run 1 [12,13]\nps",
                             "visit 1 [12,13]",
                             "run 1 \nps",
                             "run -1 12\nps",
                             "run 4294967295 12\nps",
                             "run 99999999999 12\nps",
                             "run 1 12\nps\t",
                             "run 1 12\nps\n\x1b[2J",
                             "run 1 12\nps\n\x7f",
                             "run 1 12\nps\n\x80",
                             "run 1 12\nps\n\xc2\x9b",
                             "run 1 12\r\nps",
                             "RUN 1 12\nps",
                             "visit 1 12\nps"}) {
        if (parse_visit(word).ok())
            fail_msg("'%s'", word);
    }
    assert_false(parse_visit(std::string_view("run 1 12\nps\0\n--json", 19)).ok());
    auto with = [](std::vector<std::string> words) {
        return parse_visit(visit_word({1, "12", AskedRun{"ps", std::move(words)}})).ok();
    };
    assert_true(with({}));
    assert_false(with(std::vector<std::string>(AskedRun::most_words + 1, "x")));
    assert_false(with({std::string(AskedRun::longest_word + 1, 'x')}));
    assert_false(with(std::vector<std::string>(15, std::string(AskedRun::longest_word, 'x')))); // too much in all
    assert_false(parse_visit(visit_word({1, std::string(longest_visited_job + 1, '1'), AskedRun{"ps", {}}})).ok());
}

void how_it_has_ended(void **) {
    auto code = parse_run_ended(run_ended(137));
    assert_true(code.ok() && *code == 137);
    auto failed = parse_run_ended("failed limit too many");
    assert_true(!failed && failed.failure().kind == ErrorKind::limit);
    for (const char *word :
         {"", "ended", "ended ", "ended -1", "ended 256", "ended 1 ", "ended x", "serving 1", "ready"}) {
        if (parse_run_ended(word).ok())
            fail_msg("'%s'", word);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(each_command_takes_its_action),
        cmocka_unit_test(the_words_of_each_command),
        cmocka_unit_test(the_job_is_no_option),
        cmocka_unit_test(who_has_asked),
        cmocka_unit_test(what_is_said_at_the_door),
        cmocka_unit_test(what_is_no_wish),
        cmocka_unit_test(how_it_has_ended),
    };
    return cmocka_run_group_tests_name("what desks run for other users", tests, nullptr, nullptr);
}
