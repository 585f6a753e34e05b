// What the rules give tools of another user, whom the daemon has to look up first; and what tools are refused by the
// gate before all requests.
#include "server-glue/tool_access/tool_rights.h"

#include "server-glue/library/upcall_handlers.h"
#include "server-glue/security/credential_asks.h"
#include "server-glue/tool_access/step_tools.h"

#include "test/unit/bare_rm.h"
#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

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

struct LogText {
    int fd = ::memfd_create("log", MFD_CLOEXEC);
    ~LogText() { ::close(fd); }
    std::string text() const {
        std::string out(1u << 20, '\0');
        auto got = ::pread(fd, out.data(), out.size(), 0);
        out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return out;
    }
    std::size_t times(std::string_view what) const {
        std::size_t count = 0;
        const std::string all = text();
        for (auto at = all.find(what); at != all.npos; at = all.find(what, at + 1))
            ++count;
        return count;
    }
};

void who_asks_without_end_hides_nobody(void **) {
    Fixture f;
    LogText written;
    Log log(written.fd, LogLevel::warning, "tool_rights");
    f.settings.tools_policy = {{"allow observe by anyone to jobs of themselves from here", "FILE:1"},
                               {"deny control by anyone to jobs of anyone from here", "FILE:2"}};
    ToolRights rights(*f.loop, log, f.settings);
    const ToolRights::Question one{policy::Action::control, {}, 11, "12"}, other{policy::Action::control, {}, 22, "12"},
        looks{policy::Action::observe, {}, 33, "12"};
    f.decided(rights, one);
    for (int i = 0; i < 100; ++i)
        assert_false(rights.may(one));
    assert_int_equal(written.times("pid 11"), 20);
    assert_false(rights.may(other));
    assert_int_equal(written.times("pid 22"), 1);
    assert_int_equal(written.times("FILE:2"), 21);
    assert_true(rights.may(looks)); // at this level it is in nobody's way
    assert_int_equal(written.times("pid 33"), 0);
    log.note_file();
    log.set_level(LogLevel::error); // as a user may set it
    assert_true(rights.may(looks));
    assert_int_equal(written.times("allowed"), 1);
    for (pid_t pid = 100; pid < 2000; ++pid) // one that is another process each time
        assert_false(rights.may({policy::Action::control, {}, pid, "12"}));
    assert_int_equal(written.times("\n"), 600);
}

// A credential makes its owner the job's user elsewhere.
void who_only_looks_gets_no_credential(void **) {
    struct Given {
        const char *actions;
        pmix_status_t got, checked;
    };
    const Given cases[] = {{"observe", PMIX_ERR_NO_PERMISSIONS, PMIX_SUCCESS},
                           {"observe,control,debug", PMIX_ERR_NO_PERMISSIONS, PMIX_SUCCESS},
                           {"output", PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NO_PERMISSIONS},
                           {"output,spawn", PMIX_SUCCESS, PMIX_ERR_NO_PERMISSIONS}};
    for (const Given &given : cases) {
        Fixture f;
        f.settings.tools_policy = {
            {fmt::format("allow {} by anyone to jobs of anyone from here", given.actions), "FILE:1"},
            {"deny everything by anyone to jobs of anyone from anywhere", "FILE:2"}};
        BareRm rm;
        rm.info.nspace = "job";
        rm.info.map = JobMap::without_ranks("here");
        StepContext context(*f.loop, f.log, f.settings, rm, false, DebugStops());
        StepTools tools(context);
        UpcallHandlers handlers;
        tools.take_asks(handlers);
        handlers.on<CredentialAsk>(policy::Action::spawn, [](CredentialAsk ask) { ask.reply(PMIX_SUCCESS, "made"); });
        handlers.on<ValidationAsk>(policy::Action::observe, [](ValidationAsk ask) { ask.reply(PMIX_SUCCESS, {}); });
        auto get = [&](const char *nspace) {
            pmix_status_t out = PMIX_ERROR;
            handlers.hand_on(CredentialAsk{{nspace, 0},
                                           {},
                                           {[&](pmix_status_t status, const Bytes &credential) {
                                                out = status;
                                                assert_int_equal(credential.empty(), status != PMIX_SUCCESS);
                                            },
                                            PMIX_ERROR, Bytes()}});
            return out;
        };
        auto check = [&](const char *nspace) {
            pmix_status_t out = PMIX_ERROR;
            handlers.hand_on(
                ValidationAsk{{nspace, 0},
                              "made",
                              {},
                              {[&](pmix_status_t status, Identity) { out = status; }, PMIX_ERROR, Identity()}});
            return out;
        };
        // What is given to tools here is known when the rules have been read.
        run_until(*f.loop, [&] {
            return tools.may({"tool", 0}, policy::Action::observe) || tools.may({"tool", 0}, policy::Action::output);
        });
        assert_int_equal(get("tool"), given.got);
        assert_int_equal(check("tool"), given.checked);
        assert_int_equal(get("job"), PMIX_SUCCESS); // processes of the job always
        assert_int_equal(check("job"), PMIX_SUCCESS);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(another_user_is_looked_up_first),
        cmocka_unit_test(a_user_who_is_not_known_gets_nothing),
        cmocka_unit_test(rules_that_cannot_be_read_are_read_again),
        cmocka_unit_test(of_two_hosts_the_lesser_rights_count),
        cmocka_unit_test(who_asks_without_end_hides_nobody),
        cmocka_unit_test(who_only_looks_gets_no_credential),
    };
    return cmocka_run_group_tests_name("rights of tools", tests, nullptr, nullptr);
}
