// What the gate asks the site's rules about jobs of others: everything, or the action that a command takes.
#include "server-glue/gate/gate_rules.h"

#include "test/unit/check.h"
#include "test/unit/run_until.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace pmixhost;
using policy::Action;
using namespace std::chrono_literals;

namespace {

// Two who are on every host, by number.
constexpr uid_t asks = 1, owns = 2;

class NoNames : public policy::Names {
    Result<std::uint32_t> user(const std::string &) const override { return error(ErrorKind::not_found, "none"); }
    Result<std::uint32_t> group(const std::string &) const override { return error(ErrorKind::not_found, "none"); }
};

struct Fixture {
    std::unique_ptr<EventLoop> loop;
    std::string log_file;
    std::unique_ptr<Log> log;
    std::unique_ptr<GateRules> rules;

    explicit Fixture(const std::vector<std::string> &site, policy::UserRules users = policy::UserRules::off,
                     const std::vector<std::string> &addresses = {"10.99.0.1"}) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        assert_true(made.ok());
        loop = std::move(*made);
        char name[] = "/tmp/pmixhost-gate-rules.XXXXXX";
        int fd = ::mkstemp(name);
        assert_true(fd >= 0);
        log_file = name;
        log = std::make_unique<Log>(fd, LogLevel::info, "gate");
        GateRules::Read read;
        std::vector<policy::Rule> parsed;
        for (const auto &each : site) {
            auto rule = policy::parse_rule({each, "FILE:" + std::to_string(parsed.size() + 1)}, NoNames());
            assert_true(rule.ok());
            parsed.push_back(*rule);
        }
        read.policy = policy::Policy(std::move(parsed), users);
        for (const auto &each : addresses)
            read.addresses.push_back(*policy::parse_address(each));
        rules = std::make_unique<GateRules>(*loop, *log, std::move(read), "", nullptr);
    }
    ~Fixture() { ::unlink(log_file.c_str()); }
    // "everything", "action", or "refused".
    std::string judge(std::optional<Action> action, uid_t asker = asks, uid_t owner = owns,
                      const policy::Location &from = policy::Location::here()) {
        std::string said;
        rules->judge({asker, owner, 77, "12.0", action, from}, [&said](const Result<GateRules::Given> &given) {
            said = !given ? "refused" : *given == GateRules::Given::everything ? "everything" : "action";
        });
        run_until(*loop, [&said] { return !said.empty(); });
        return said;
    }
    std::string last_line() const {
        log->flush();
        std::ifstream in(log_file);
        std::string line, last;
        while (std::getline(in, line))
            last = line;
        return last;
    }
};

void expect(const std::string &got, const char *wanted) {
    assert_string_equal(got.c_str(), wanted);
}

void who_has_some_actions_may_have_these(void **) {
    Fixture f({"allow observe,output by 1 to jobs of 2 from 10.99.0.0/16"});
    expect(f.judge(std::nullopt), "refused");
    expect(f.judge(Action::observe), "action");
    expect(f.judge(Action::output), "action");
    std::string line = f.last_line();
    assert_non_null(strstr(line.c_str(),
                           "tools: allowed: uid 1, pid 77, from 10.99.0.1: output of job 12.0 of uid 2, by "
                           "FILE:1 \"allow observe,output by 1"));
    expect(f.judge(Action::control), "refused");
    line = f.last_line();
    assert_non_null(strstr(line.c_str(), "tools: refused: uid 1, pid 77,"));
    assert_non_null(strstr(line.c_str(), "control of job 12.0 of uid 2"));
    expect(f.judge(Action::observe, 2, 1), "refused"); // the other way round
    expect(f.judge(Action::observe, 0), "refused");    // root is an asker like any other
}

void who_has_everything_visits(void **) {
    Fixture f({"allow everything by 1 to jobs of 2 from 10.99.0.0/16"});
    expect(f.judge(std::nullopt), "everything");
    expect(f.judge(Action::control), "everything");
}

// At the level that a log has by default, and whatever else who comes has filled it with.
void who_is_let_in_to_jobs_of_others_is_in_the_log(void **) {
    Fixture f({"allow observe by 1 to jobs of 1 from here", "allow everything by 1 to jobs of 2 from 10.99.0.1",
               "allow observe by 1 to jobs of 3 from 10.99.0.1"});
    f.log->set_level(LogLevel::warning);
    for (int i = 0; i < 40; ++i)
        expect(f.judge(std::nullopt, asks, asks), "everything");
    assert_string_equal(f.last_line().c_str(), "");
    expect(f.judge(std::nullopt), "everything");
    assert_non_null(strstr(f.last_line().c_str(), "tools: allowed: uid 1, pid 77,"));
    assert_non_null(strstr(f.last_line().c_str(), "of job 12.0 of uid 2, by FILE:2"));
    expect(f.judge(Action::observe, asks, 3), "action");
    assert_non_null(strstr(f.last_line().c_str(), "observe of job 12.0 of uid 3, by FILE:3"));
}

void the_first_rule_that_matches_counts(void **) {
    Fixture f(
        {"deny control by 1 to jobs of 2 from anywhere", "allow everything by 1 to jobs of anyone from 10.99.0.1"});
    expect(f.judge(std::nullopt), "refused");
    expect(f.judge(Action::observe), "action");
    expect(f.judge(Action::control), "refused");
    assert_non_null(strstr(f.last_line().c_str(), "FILE:1 \"deny control"));
}

// The daemons of others' jobs see an address of this host. A rule for "here" would send a tool to who refuses it, where
// the job's user could have run the command.
void from_here_gives_nothing_on_jobs_of_others(void **) {
    const std::vector<std::string> rules = {"allow everything by 1 to jobs of 2 from here",
                                            "allow observe by 1 to jobs of 2 from 10.99.0.0/16"};
    Fixture f(rules);
    expect(f.judge(std::nullopt), "refused");
    expect(f.judge(Action::observe), "action");
    expect(f.judge(Action::control), "refused");
    Fixture alone(rules, policy::UserRules::off, {}); // this host has no address
    expect(alone.judge(Action::observe), "everything");
}

// Which address the daemons see is not known here.
void what_holds_from_more_addresses_is_taken(void **) {
    Fixture f({"allow everything by 1 to jobs of 2 from 10.99.0.1", "allow observe by 1 to jobs of 2 from 10.99.0.2"},
              policy::UserRules::off, {"10.99.0.1", "10.99.0.2"});
    expect(f.judge(std::nullopt), "everything");
    expect(f.judge(Action::observe), "action");
    expect(f.judge(Action::control), "everything");
}

void users_may_let_their_own_tools_in_where_the_site_says_so(void **) {
    const auto far = policy::Location::at(*policy::parse_address("10.1.2.3"));
    const std::vector<std::string> rules = {"deny everything by anyone to jobs of anyone from 10.66.0.0/16"};
    for (auto users : {policy::UserRules::off, policy::UserRules::tighten, policy::UserRules::loosen}) {
        Fixture f(rules, users);
        bool loosen = users == policy::UserRules::loosen;
        assert_int_equal(f.rules->may_anybody_come(far), loosen);
        expect(f.judge(std::nullopt, asks, asks, far), loosen ? "everything" : "refused");
        expect(f.judge(std::nullopt, asks, asks, policy::Location::at(*policy::parse_address("10.66.0.1"))), "refused");
        expect(f.judge(std::nullopt, asks, owns, far), "refused"); // the site's rules alone let others in
        expect(f.judge(Action::observe, asks, owns, far), "refused");
    }
}

void another_network_gives_nothing(void **) {
    Fixture f({"allow observe by 1 to jobs of 2 from 10.98.0.0/16"});
    expect(f.judge(Action::observe), "refused");
}

void who_is_not_known_gets_nothing(void **) {
    Fixture f({"allow everything by anyone to jobs of anyone from anywhere"});
    expect(f.judge(Action::observe, 4000000000u), "refused");
    expect(f.judge(Action::observe, asks, 4000000000u), "refused");
}

// As where a directory service starts later than the gate.
void what_is_wrong_is_read_again(void **) {
    Fixture f({});
    std::string config = f.log_file + ".conf";
    auto write = [&config](const char *who) {
        std::ofstream(config + ".new") << "[tools]\npolicy = [\"allow observe by " << who
                                       << " to jobs of anyone from 10.98.0.0/16\"]\n";
        std::filesystem::rename(config + ".new", config);
    };
    write("pmixhost-nobody-has-this-name");
    auto read = GateRules::read(config);
    assert_int_equal(read.wrong.size(), 1);
    int told = 0;
    f.rules = std::make_unique<GateRules>(
        *f.loop, *f.log, std::move(read), config, [&told](const Settings &) { ++told; }, 10ms);
    auto may_come = [&f] {
        return f.rules->may_anybody_come(policy::Location::at(*policy::parse_address("10.98.0.1")));
    };
    run_until(*f.loop, [&told] { return told == 3; });
    assert_false(may_come());
    write("1");
    run_until(*f.loop, may_come);
    int now = told;
    auto later = f.loop->now() + 100ms;
    run_until(*f.loop, [&] { return f.loop->now() >= later; });
    assert_int_equal(told, now);
    f.rules.reset();
    f.log->flush();
    std::ifstream in(f.log_file);
    std::string line, all;
    while (std::getline(in, line))
        all += line.substr(line.find("tools")) + '\n';
    assert_non_null(strstr(all.c_str(), "there is no such user on this host\ntools are right by now\n"));
    assert_null(strstr(all.c_str(), "were read again"));
    std::filesystem::remove(config);
}

// Tools of other hosts, of the own jobs.
void where_who_asks_is_counts(void **) {
    Fixture f({"deny observe by 2 to jobs of anyone from 10.98.0.1",
               "allow observe by anyone to jobs of themselves from 10.98.0.0/16",
               "allow control by anyone to jobs of themselves from 10.97.0.0/16",
               "deny everything by anyone to jobs of anyone from 10.96.0.0/16"});
    auto at = [](const char *address) { return policy::Location::at(*policy::parse_address(address)); };
    auto judge = [&](uid_t user, const char *address) {
        std::string said;
        GateRules::Question question{user, user};
        question.from = at(address);
        f.rules->judge(question, [&said](const Result<GateRules::Given> &given) { said = given ? "in" : "out"; });
        run_until(*f.loop, [&said] { return !said.empty(); });
        return said;
    };
    expect(judge(1, "10.98.0.1"), "in");
    expect(judge(2, "10.98.0.1"), "out");
    assert_non_null(strstr(f.last_line().c_str(), "refused: uid 2, from 10.98.0.1: observe of jobs of uid 2"));
    expect(judge(2, "10.98.0.2"), "in");
    expect(judge(1, "10.97.0.1"), "out");
    expect(judge(1, "10.99.0.1"), "out"); // an address of this host, too
    // What need not be asked.
    assert_true(f.rules->may_anybody_come(at("10.98.0.1")));
    for (const char *address : {"10.97.0.1", "10.96.0.1", "10.99.0.1", "2001:db8::1"})
        assert_false(f.rules->may_anybody_come(at(address)));
    assert_false(f.rules->may_anybody_come(policy::Location()));
}

// Its own kind, and where the rule stands: of what went wrong otherwise it is not said that the rules have.
void a_refusal_is_told_apart(void **) {
    Fixture f({"deny everything by 1 to jobs of anyone from anywhere"});
    auto refusal = [&](uid_t user) {
        std::optional<Error> why;
        f.rules->judge({user, user}, [&why](const Result<GateRules::Given> &given) {
            assert_false(given.ok());
            why = given.failure();
        });
        run_until(*f.loop, [&why] { return why.has_value(); });
        return *why;
    };
    auto of_rules = refusal(1), unknown = refusal(4000000000u);
    assert_true(of_rules.kind == ErrorKind::denied && unknown.kind != ErrorKind::denied);
    assert_string_equal(of_rules.text.c_str(), "the site's rules (tools.policy) do not let it, by FILE:1");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_has_some_actions_may_have_these),
        cmocka_unit_test(who_has_everything_visits),
        cmocka_unit_test(who_is_let_in_to_jobs_of_others_is_in_the_log),
        cmocka_unit_test(the_first_rule_that_matches_counts),
        cmocka_unit_test(from_here_gives_nothing_on_jobs_of_others),
        cmocka_unit_test(what_holds_from_more_addresses_is_taken),
        cmocka_unit_test(users_may_let_their_own_tools_in_where_the_site_says_so),
        cmocka_unit_test(another_network_gives_nothing),
        cmocka_unit_test(who_is_not_known_gets_nothing),
        cmocka_unit_test(what_is_wrong_is_read_again),
        cmocka_unit_test(where_who_asks_is_counts),
        cmocka_unit_test(a_refusal_is_told_apart),
    };
    return cmocka_run_group_tests_name("the gate's rules", tests, nullptr, nullptr);
}
