// What the rules give tools of another user, whom the daemon has to look up first.
#include "server-glue/tool_access/tool_rights.h"

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

#include <atomic>
#include <cstring>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "tool_rights"};
    Settings settings;

    Fixture() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        settings.tools_user_policy = "off";
        settings.tools_policy = {{"allow everything by anyone to jobs of anyone from 10.0.0.0/8", "the test"}};
    }
    policy::Decision decided(ToolRights &rights, const ToolRights::Question &question) const {
        std::optional<policy::Decision> decision;
        run_until(*loop, [&] { return (decision = rights.decide(question)).has_value(); });
        return *decision;
    }
};

void another_user_is_looked_up_first(void **) {
    Fixture f;
    ToolRights rights(*f.loop, f.log, f.settings);
    const ToolRights::Question root{policy::Action::control, {"10.1.2.3", 0}},
        elsewhere{policy::Action::control, {"192.168.0.1", 0}};
    assert_false(rights.may(root)); // not known is no
    assert_true(f.decided(rights, root).allowed);
    assert_true(rights.may(root));
    assert_false(rights.may(elsewhere));
}

// Without the groups, a rule that refuses one of them would be passed over.
void a_user_who_is_not_known_gets_nothing(void **) {
    Fixture f;
    ToolRights rights(*f.loop, f.log, f.settings);
    const ToolRights::Question question{policy::Action::observe, {"10.1.2.3", 3999999999u}};
    auto decision = f.decided(rights, question);
    assert_false(decision.allowed);
    assert_non_null(strstr(decision.by.text.c_str(), "not known"));
    assert_false(rights.may(question)); // with a line in the log
    assert_true(f.decided(rights, {policy::Action::observe, {"10.1.2.3", {}}}).allowed);
}

// A directory service that hangs, and one that does not answer.
void rules_that_cannot_be_read_are_read_again(void **) {
    Fixture f;
    auto gate = std::make_shared<OneTimeGate>();
    auto times = std::make_shared<std::atomic<int>>(0);
    ToolRights rights(*f.loop, f.log, f.settings,
                      [gate, times](const Settings &settings) {
                          int time = ++*times;
                          if (time == 1)
                              gate->wait();
                          auto rules = policy::read_own_rules(settings);
                          if (time == 2) {
                              rules.policy = policy::Policy::closed({"no answer", "FILE:1"});
                              rules.wrong = {"FILE:1: no answer"};
                              rules.look_up_failed = true;
                          }
                          return rules;
                      },
                      {2s, 50ms});
    const ToolRights::Question own{policy::Action::control, {"10.1.2.3", {}}};
    assert_false(rights.decide(own).has_value());
    auto decision = f.decided(rights, own);
    assert_false(decision.allowed);
    assert_non_null(strstr(decision.by.text.c_str(), "are still being read after 2 s"));
    auto decide = [&] { // who comes in the middle of the next reading waits for it
        if (auto now = rights.decide(own))
            decision = *now;
        return decision;
    };
    run_until(*f.loop, [&] { return decide().allowed || !strstr(decision.by.text.c_str(), "being read"); });
    assert_string_equal(decision.by.text.c_str(), "no answer");
    run_until(*f.loop, [&] { return decide().allowed; });
    auto later = f.loop->now() + 200ms; // and these hold
    run_until(*f.loop, [&] { return decide().allowed && f.loop->now() >= later; });
    assert_int_equal(*times, 3);
    gate->open();
}

// A tool that came to its desk from a third host: the desk may lie about that one.
void of_two_hosts_the_lesser_rights_count(void **) {
    Fixture f;
    f.settings.tools_policy = {{"allow observe by anyone to jobs of themselves from 10.0.0.1,10.0.0.2", "FILE:1"},
                               {"allow control by anyone to jobs of themselves from 10.0.0.1", "FILE:2"},
                               {"allow output by anyone to jobs of themselves from 10.0.0.2", "FILE:3"}};
    ToolRights rights(*f.loop, f.log, f.settings);
    auto may = [&](policy::Action action, const char *from, const char *by) {
        ToolRights::Question question{action, {from, {}, by}};
        return f.decided(rights, question).allowed && rights.may(question);
    };
    for (const char *from : {"10.0.0.1", "10.0.0.2"}) {
        const char *by = from[7] == '1' ? "10.0.0.2" : "10.0.0.1";
        assert_true(may(policy::Action::observe, from, by));
        assert_false(may(policy::Action::control, from, by));
        assert_false(may(policy::Action::output, from, by));
        assert_false(may(policy::Action::observe, from, "10.0.0.3"));
        assert_false(may(policy::Action::observe, "10.0.0.3", from));
    }
    assert_false(may(policy::Action::control, "127.0.0.1", "10.0.0.2")); // as a liar would have it
    assert_true(may(policy::Action::control, "10.0.0.1", ""));
    assert_true(may(policy::Action::control, "10.0.0.1", "10.0.0.1"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(another_user_is_looked_up_first),
        cmocka_unit_test(a_user_who_is_not_known_gets_nothing),
        cmocka_unit_test(rules_that_cannot_be_read_are_read_again),
        cmocka_unit_test(of_two_hosts_the_lesser_rights_count),
    };
    return cmocka_run_group_tests_name("rights of tools", tests, nullptr, nullptr);
}
