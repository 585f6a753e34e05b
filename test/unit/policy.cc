// The policy for tools: a table of decisions written by hand, the form of its rules, users' own files, rules that can
// never match, and input that means harm.
#include "common/policy/accounts.h"
#include "common/policy/others_jobs.h"
#include "common/policy/policy_load.h"
#include "common/policy/unreachable.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::policy;

namespace {

// The people of the tests; no account is needed for them.
struct Known {
    const char *name;
    Person person;
};
const Known people[] = {
    {"root", {0, {0}}},
    {"svc", {900, {900}}},
    {"alice", {1001, {100, 60}}},
    {"bob", {1002, {100, 60}}},
    {"carol", {1003, {100, 50}}},
    {"dave", {1004, {100, 70}}},
    {"from", {1005, {100, 50, 70}}},
};

class TestNames : public Names {
  public:
    Result<std::uint32_t> user(const std::string &name) const override {
        for (const auto &known : people) {
            if (known.name == name)
                return known.person.uid;
        }
        if (name == "slow")
            return error(ErrorKind::system, "the directory does not answer");
        if (name == "nobody4")
            return no_id;
        return error(ErrorKind::not_found, "user {} is not known on this host", name);
    }
    Result<std::uint32_t> group(const std::string &name) const override {
        if (name == "ops")
            return 50u;
        if (name == "project")
            return 60u;
        if (name == "students")
            return 70u;
        return error(ErrorKind::not_found, "group {} is not known on this host", name);
    }
};
const TestNames names;

const Person &person(std::string_view name) {
    return std::find_if(std::begin(people), std::end(people), [&](const Known &k) { return k.name == name; })->person;
}

Location location(std::string_view text) {
    return text == "here" ? Location::here() : text == "?" ? Location{} : Location::at(*parse_address(text));
}

using Lines = std::vector<const char *>;

// The configuration that has these rules, in lines from 1 on.
Loaded config(const Lines &rules, const char *users = "tighten") {
    Loaded loaded;
    for (std::size_t i = 0; i < rules.size(); ++i)
        loaded.settings.tools_policy.push_back({rules[i], fmt::format("site:{}", i + 1)});
    loaded.settings.tools_user_policy = users;
    return loaded;
}

std::string text_of(const Lines &lines) {
    std::string text;
    for (const char *line : lines)
        text += std::string(line) + "\n";
    return text;
}

bool expect(bool ok, const std::string &what) {
    if (!ok)
        print_error("%s\n", what.c_str());
    return ok;
}

// by: + allowed, - refused; then the line of the site's rules ("3"), of the user's ("u3"), or "b": built in.
struct Case {
    const char *who, *from, *owner, *action, *by;
};

std::string decided(const Policy &policy, const Case &c) {
    Request request{person(c.who), 77, location(c.from), person(c.owner), "12.0", *parse_action(c.action)};
    Decision decision = policy.decide(request);
    const std::string &place = decision.by.place;
    std::string line = place == "built in"          ? "b"
                       : place.starts_with("site:") ? place.substr(5)
                       : place.starts_with("USER:") ? "u" + place.substr(5)
                                                    : place;
    return (decision.allowed ? "+" : "-") + line;
}

template <std::size_t N> bool all_hold(const Policy &policy, const Case (&cases)[N]) {
    bool ok = true;
    for (const auto &c : cases) {
        auto is = decided(policy, c);
        ok &= expect(is == c.by, fmt::format("{} from {}: {} of jobs of {} is {}, not {}", c.who, c.from, c.action,
                                             c.owner, is, c.by));
    }
    return ok;
}

Policy policy_of(const Lines &site, const char *users = "tighten") {
    auto loaded = load_site_policy(config(site, users), names);
    for (const auto &error : loaded.errors)
        print_error("%s\n", error.text.c_str());
    assert_true(loaded.errors.empty());
    return loaded.policy;
}

void without_rules_each_has_the_own_jobs_on_the_host(void **) {
    const Case cases[] = {
        {"alice", "here", "alice", "observe", "+b"},
        {"alice", "here", "alice", "output", "+b"},
        {"alice", "here", "alice", "input", "+b"},
        {"alice", "here", "alice", "control", "+b"},
        {"alice", "here", "alice", "spawn", "+b"},
        {"alice", "here", "alice", "debug", "+b"},
        {"root", "here", "root", "debug", "+b"},
        {"alice", "127.0.0.1", "alice", "debug", "+b"},
        {"alice", "127.9.9.9", "alice", "debug", "+b"},
        {"alice", "::1", "alice", "debug", "+b"},
        {"alice", "::ffff:127.0.0.1", "alice", "debug", "+b"},
        // Another user, of the same group or not.
        {"alice", "here", "bob", "observe", "-b"},
        {"alice", "here", "bob", "output", "-b"},
        {"alice", "here", "bob", "input", "-b"},
        {"alice", "here", "bob", "control", "-b"},
        {"alice", "here", "bob", "spawn", "-b"},
        {"alice", "here", "bob", "debug", "-b"},
        {"dave", "here", "alice", "observe", "-b"},
        // Nobody is above the rules, and nobody below.
        {"root", "here", "alice", "observe", "-b"},
        {"root", "here", "alice", "debug", "-b"},
        {"svc", "here", "alice", "control", "-b"},
        {"alice", "here", "root", "observe", "-b"},
        // Another host.
        {"alice", "10.1.2.3", "alice", "observe", "-b"},
        {"alice", "2001:db8::1", "alice", "control", "-b"},
        {"alice", "128.0.0.1", "alice", "observe", "-b"},
        {"alice", "::2", "alice", "observe", "-b"},
        {"root", "10.1.2.3", "root", "observe", "-b"},
        {"root", "10.1.2.3", "alice", "observe", "-b"},
        {"alice", "?", "alice", "observe", "-b"},
    };
    assert_true(all_hold(policy_of({}), cases));
}

const Lines site_rules = {
    /* 1 */ "deny input, spawn by @students to jobs of anyone from anywhere",
    /* 2 */ "allow observe, output by @ops to jobs of anyone from here, 10.0.0.0/8, 2001:db8::/32",
    /* 3 */ "deny everything by anyone to jobs of root from anywhere",
    /* 4 */ "allow observe by alice to jobs of @project from 192.168.1.0/24",
    /* 5 */ "allow everything by anyone to jobs of themselves from 10.1.0.0/16, 2001:db8:1::/48",
    /* 6 */ "deny observe by anyone to jobs of carol from 10.1.2.3",
    /* 7 */ "allow observe by anyone to jobs of carol from anywhere",
    /* 8 */ "allow control, debug by root to jobs of anyone from here",
    /* 9 */ "deny debug by anyone to jobs of themselves from here",
    /* 10 */ "allow control by 900 to jobs of @60, 1004 from 172.16.0.1",
    /* 11 */ "allow input by alice, @students to jobs of bob, @ops from here",
    /* 12 */ "allow output by bob to jobs of alice from fe80::/10, 0.0.0.0/0",
};

void the_first_rule_that_matches_decides(void **) {
    const Case cases[] = {
        // 1: a group, two actions, from anywhere; it goes before what is built in.
        {"dave", "here", "dave", "input", "-1"},
        {"dave", "here", "dave", "spawn", "-1"},
        {"dave", "10.1.0.1", "dave", "spawn", "-1"},
        {"dave", "2001:db8:1::1", "dave", "input", "-1"},
        {"dave", "here", "bob", "input", "-1"},
        {"dave", "here", "dave", "control", "+b"},
        {"dave", "here", "dave", "observe", "+b"},
        {"from", "here", "from", "input", "-1"}, // in two groups
        {"alice", "here", "dave", "input", "-b"},
        {"dave", "here", "alice", "input", "-1"},
        // 2: three places.
        {"carol", "here", "alice", "observe", "+2"},
        {"carol", "here", "alice", "output", "+2"},
        {"carol", "here", "alice", "control", "-b"},
        {"carol", "10.0.0.0", "alice", "observe", "+2"},
        {"carol", "10.255.255.255", "alice", "output", "+2"},
        {"carol", "9.255.255.255", "alice", "observe", "-b"},
        {"carol", "11.0.0.0", "alice", "observe", "-b"},
        {"carol", "::ffff:10.9.8.7", "alice", "observe", "+2"}, // by a socket of IPv6
        {"carol", "::10.9.8.7", "alice", "observe", "-b"},      // this is another address
        {"carol", "2001:db8::", "bob", "observe", "+2"},
        {"carol", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "bob", "observe", "+2"},
        {"carol", "2001:db9::", "bob", "observe", "-b"},
        {"carol", "2001:db7:ffff::", "bob", "observe", "-b"},
        {"carol", "here", "root", "observe", "+2"}, // before 3
        {"from", "here", "bob", "output", "+2"},
        {"carol", "127.0.0.1", "bob", "observe", "+2"},
        {"carol", "?", "bob", "observe", "-b"},
        // 3: whatever root has.
        {"root", "here", "root", "control", "-3"},
        {"root", "10.1.0.1", "root", "observe", "-3"},
        {"alice", "here", "root", "observe", "-3"},
        {"carol", "192.168.1.1", "root", "observe", "-3"},
        {"carol", "here", "root", "control", "-3"},
        {"svc", "8.8.8.8", "root", "spawn", "-3"},
        // 4: jobs of a group, from a network of IPv4.
        {"alice", "192.168.1.0", "bob", "observe", "+4"},
        {"alice", "192.168.1.255", "bob", "observe", "+4"},
        {"alice", "192.168.1.7", "alice", "observe", "+4"},
        {"alice", "192.168.2.0", "bob", "observe", "-b"},
        {"alice", "192.168.0.255", "bob", "observe", "-b"},
        {"alice", "192.168.1.7", "dave", "observe", "-b"},
        {"alice", "192.168.1.7", "bob", "output", "-b"},
        {"alice", "here", "bob", "observe", "-b"}, // a network is not this host
        {"bob", "192.168.1.7", "alice", "observe", "-b"},
        // 5: the own jobs, from elsewhere.
        {"alice", "10.1.0.0", "alice", "debug", "+5"},
        {"bob", "10.1.255.255", "bob", "spawn", "+5"},
        {"bob", "10.2.0.0", "bob", "observe", "-b"},
        {"bob", "2001:db8:1:ffff::1", "bob", "input", "+5"},
        {"bob", "2001:db8:2::", "bob", "input", "-b"},
        {"bob", "10.1.0.1", "alice", "debug", "-b"}, // of the same group, but not the own
        {"dave", "10.1.0.1", "dave", "control", "+5"},
        {"svc", "10.1.0.1", "svc", "control", "+5"},
        // 6, 7: an exception stands before.
        {"bob", "10.1.2.3", "carol", "observe", "-6"},
        {"bob", "10.1.2.4", "carol", "observe", "+7"},
        {"bob", "here", "carol", "observe", "+7"},
        {"root", "1.2.3.4", "carol", "observe", "+7"},
        {"carol", "10.1.2.3", "carol", "observe", "+2"},
        {"carol", "10.1.2.3", "carol", "control", "+5"},
        {"bob", "here", "carol", "output", "-b"},
        {"bob", "::ffff:10.1.2.3", "carol", "observe", "-6"},
        // 8: what root may.
        {"root", "here", "alice", "control", "+8"},
        {"root", "here", "dave", "debug", "+8"},
        {"root", "here", "alice", "observe", "-b"},
        {"root", "10.1.0.1", "alice", "debug", "-b"},
        {"svc", "here", "alice", "control", "-b"},
        // 9: the own jobs, refused; nobody is safe from the site.
        {"alice", "here", "alice", "debug", "-9"},
        {"svc", "here", "svc", "debug", "-9"},
        {"alice", "here", "alice", "control", "+b"},
        {"alice", "10.1.9.9", "alice", "debug", "+5"},
        // 10: numbers.
        {"svc", "172.16.0.1", "alice", "control", "+10"},
        {"svc", "172.16.0.1", "bob", "control", "+10"},
        {"svc", "172.16.0.1", "dave", "control", "+10"},
        {"svc", "172.16.0.1", "carol", "control", "-b"},
        {"svc", "172.16.0.2", "alice", "control", "-b"},
        {"svc", "172.16.0.1", "svc", "control", "-b"},
        // 11: users and groups in one list.
        {"alice", "here", "bob", "input", "+11"},
        {"alice", "here", "carol", "input", "+11"},
        {"alice", "here", "from", "input", "+11"},
        {"alice", "10.1.1.1", "bob", "input", "-b"},
        {"bob", "here", "carol", "input", "-b"},
        {"carol", "here", "bob", "input", "-b"},
        // 12: all of IPv4 is neither IPv6 nor this host.
        {"bob", "203.0.113.9", "alice", "output", "+12"},
        {"bob", "fe80::1", "alice", "output", "+12"},
        {"bob", "febf::1", "alice", "output", "+12"},
        {"bob", "fec0::1", "alice", "output", "-b"},
        {"bob", "2001:db8::1", "alice", "output", "-b"},
        {"bob", "here", "alice", "output", "-b"},
    };
    static_assert(std::size(cases) > 80);
    assert_true(all_hold(policy_of(site_rules), cases));
}

Policy with_user(const Lines &site, const char *users, const char *user, const Lines &own) {
    Policy policy = policy_of(site, users);
    auto errors = add_user_policy(policy, person(user).uid, text_of(own), "USER", names);
    for (const auto &error : errors)
        print_error("%s\n", error.text.c_str());
    assert_true(errors.empty());
    return policy;
}

const Lines some_site_rules = {
    /* 1 */ "allow observe, output by @ops to jobs of anyone from anywhere",
    /* 2 */ "deny debug by anyone to jobs of anyone from 10.0.0.0/8",
};
const Lines alices_rules = {
    /* 1 */ "# what alice wants",
    /* 2 */ "",
    /* 3 */ "allow output by carol to jobs of anyone from here",
    /* 4 */ "  deny output by @ops to jobs of anyone from anywhere",
    /* 5 */ "deny input by anyone to jobs of themselves from anywhere\r",
    /* 6 */ "allow control, debug by bob to jobs of alice from anywhere",
};

void a_user_tightens(void **) {
    const Case cases[] = {
        {"carol", "here", "alice", "output", "+1"}, // excepted from u4
        {"carol", "10.1.1.1", "alice", "output", "-u4"},
        {"carol", "here", "alice", "observe", "+1"},
        {"from", "here", "alice", "output", "-u4"},
        {"alice", "here", "alice", "input", "-u5"},
        {"alice", "here", "alice", "output", "+b"},
        {"bob", "here", "alice", "input", "-b"},
        // What would loosen is not granted.
        {"bob", "here", "alice", "control", "-b"},
        {"bob", "1.2.3.4", "alice", "debug", "-b"},
        {"bob", "10.2.3.4", "alice", "debug", "-2"},
        // Jobs of others are not alice's to speak of.
        {"carol", "10.1.1.1", "bob", "output", "+1"},
        {"bob", "here", "bob", "input", "+b"},
        {"alice", "here", "bob", "control", "-b"},
    };
    Policy policy = with_user(some_site_rules, "tighten", "alice", alices_rules);
    assert_true(all_hold(policy, cases));
    // Who asks why is told that it was tried.
    Request bob{person("bob"), 1, Location::here(), person("alice"), "", Action::control};
    assert_non_null(strstr(policy.decide(bob).note.c_str(), "USER:6 would allow it, but users may only tighten"));
}

void a_user_loosens_only_where_the_site_lets_him(void **) {
    const Case loose[] = {
        {"bob", "here", "alice", "control", "+u6"},     {"bob", "1.2.3.4", "alice", "debug", "+u6"},
        {"bob", "10.2.3.4", "alice", "debug", "-2"}, // the site's own rule stands
        {"bob", "10.2.3.4", "alice", "control", "+u6"}, {"bob", "here", "alice", "spawn", "-b"},
        {"bob", "here", "carol", "control", "-b"},      {"carol", "10.1.1.1", "alice", "output", "-u4"},
        {"carol", "here", "alice", "output", "+1"},     {"alice", "here", "alice", "input", "-u5"},
        {"dave", "here", "alice", "control", "-b"},
    };
    assert_true(all_hold(with_user(some_site_rules, "loosen", "alice", alices_rules), loose));
    const Case off[] = {
        {"bob", "here", "alice", "control", "-b"},
        {"carol", "10.1.1.1", "alice", "output", "+1"},
        {"alice", "here", "alice", "input", "+b"},
    };
    assert_true(all_hold(with_user(some_site_rules, "off", "alice", alices_rules), off));
}

bool refuses(const Policy &policy, const char *who, const char *owner, const char *place, const char *says) {
    auto decision = policy.decide({person(who), 1, Location::here(), person(owner), "", Action::observe});
    return expect(!decision.allowed && decision.by.place == place && decision.by.text.find(says) != std::string::npos,
                  fmt::format("{} {} by {} {}", who, owner, decision.by.place, decision.by.text));
}

void what_is_wrong_closes(void **) {
    assert_true(refuses(Policy(), "alice", "alice", "nowhere", "no policy"));
    // A name that there is not, beside rules that are right.
    auto site = load_site_policy(config({"allow observe by alice to jobs of anyone from here",
                                         "allow observe by alcie to jobs of anyone from here", "allow"}),
                                 names);
    assert_int_equal(site.errors.size(), 2);
    assert_int_equal(site.rules.size(), 1);
    assert_true(refuses(site.policy, "alice", "alice", "site:2", "\"alcie\": there is no such user"));
    assert_true(refuses(site.policy, "root", "root", "site:2", "and 1 more"));
    // Switched off.
    Loaded off = config({"allow observe by alice to jobs of anyone from here"});
    off.settings.tools_enabled = "off";
    off.origins.push_back({"tools.enabled", pmixhost::Origin::Source::file, "FILE:7"});
    site = load_site_policy(off, names);
    assert_true(site.errors.empty());
    assert_true(refuses(site.policy, "alice", "alice", "FILE:7", "tools.enabled = \"off\""));
    // A user's file: only the jobs of that user.
    Policy policy = policy_of({});
    auto errors = add_user_policy(policy, 1001, std::string("\ndeny output by @stuff to jobs of anyone from here\n"),
                                  "USER", names);
    assert_int_equal(errors.size(), 1);
    assert_true(refuses(policy, "alice", "alice", "USER:2", "there is no such group"));
    assert_true(policy.decide({person("bob"), 1, Location::here(), person("bob"), "", Action::debug}).allowed);
    errors =
        add_user_policy(policy, 1001, error(ErrorKind::invalid, "USER: others may write this file"), "USER", names);
    assert_int_equal(errors.size(), 1);
    assert_true(refuses(policy, "alice", "alice", "USER", "others may write"));
    // None is none.
    errors = add_user_policy(policy, 1001, error(ErrorKind::not_found, "USER: is not there"), "USER", names);
    assert_true(errors.empty());
    assert_true(policy.decide({person("alice"), 1, Location::here(), person("alice"), "", Action::debug}).allowed);
    // Who is nobody is not the same nobody.
    Request nobody{{no_id, {no_id}}, 1, Location::here(), {no_id, {no_id}}, "", Action::observe};
    assert_false(policy_of({"allow everything by anyone to jobs of anyone from anywhere"}).decide(nobody).allowed);
    nobody.owner = person("alice");
    assert_false(policy_of({"allow everything by anyone to jobs of anyone from anywhere"}).decide(nobody).allowed);
}

struct Wrong {
    std::string rule;
    std::vector<const char *> says;
};

void a_wrong_rule_is_named_by_line_and_word(void **) {
    const Wrong wrong[] = {
        {"", {"ends too early", "begins with allow or deny"}},
        {"   \t ", {"ends too early"}},
        {"alow observe by alice to jobs of anyone from here", {"word 1, \"alow\"", "did you mean allow?"}},
        {"Allow observe by alice to jobs of anyone from here", {"word 1, \"Allow\""}},
        {"allow", {"ends too early", "everything, or the next item"}},
        {"allow observ by alice to jobs of anyone from here", {"word 2, \"observ\"", "did you mean observe?"}},
        {"allow output, fly by alice to jobs of anyone from here", {"word 3, \"fly\"", "control, spawn, debug"}},
        {"allow output observe by alice to jobs of anyone from here", {"word 3, \"observe\"", "'by' is expected"}},
        {"allow output,, input by alice to jobs of anyone from here", {"\",\"", "next item"}},
        {"allow , output by alice to jobs of anyone from here", {"\",\"", "everything, or"}},
        {"allow everything, output by alice to jobs of anyone from here", {"word 3", "needs nothing beside it"}},
        {"allow output, everything by alice to jobs of anyone from here", {"word 3", "needs nothing beside it"}},
        {"allow output alice to jobs of anyone from here", {"word 3, \"alice\"", "'by' is expected"}},
        {"allow output by to jobs of anyone from here", {"word 4, \"to\"", "no such user"}},
        {"allow output by alcie to jobs of anyone from here", {"word 4, \"alcie\"", "no such user"}},
        {"allow output by @nogroup to jobs of anyone from here", {"word 4, \"@nogroup\"", "no such group"}},
        {"allow output by @ to jobs of anyone from here", {"word 4", "name of a group is missing"}},
        {"allow output by slow to jobs of anyone from here", {"cannot be told", "directory does not answer"}},
        {"allow output by nobody4 to jobs of anyone from here", {"number of nobody"}},
        {"allow output by 4294967295 to jobs of anyone from here", {"at most 4294967294"}},
        {"allow output by 99999999999999999999 to jobs of anyone from here", {"at most 4294967294"}},
        {"allow output by @4294967295 to jobs of anyone from here", {"at most 4294967294"}},
        {"allow output by -1 to jobs of anyone from here", {"no such user"}},
        {"allow output by !alice to jobs of anyone from here", {"no negation"}},
        {"allow output by %ops to jobs of anyone from here", {"written @ops"}},
        {"allow output by themselves to jobs of anyone from here", {"behind 'to jobs of'"}},
        {"allow output by anyone, alice to jobs of anyone from here", {"word 5, \"alice\"", "nothing beside it"}},
        {"allow output by everyone to jobs of anyone from here", {"word 4, \"everyone\"", "no such user"}},
        {"allow output by alice jobs of anyone from here", {"word 5, \"jobs\"", "'to' is expected"}},
        {"allow output by alice to anyone from here", {"'jobs' is expected"}},
        {"allow output by alice to jobs anyone from here", {"'of' is expected"}},
        {"allow output by alice to jobs of anyone", {"ends too early", "'from' is expected"}},
        {"allow output by alice to jobs of bob, from here", {"'from' is expected"}},
        {"allow output by alice to jobs of anyone from", {"ends too early", "anywhere, or"}},
        {"allow output by alice to jobs of anyone from here,", {"ends too early"}},
        {"allow output by alice to jobs of anyone from here now", {"word 11, \"now\"", "nothing may follow"}},
        {"allow output by alice to jobs of anyone from there", {"word 10, \"there\"", "no address"}},
        {"allow output by alice to jobs of anyone from 10.1.2.3/8", {"bits behind", "10.0.0.0/8"}},
        {"allow output by alice to jobs of anyone from 10.0.0.0/33", {"length from 0 to 32"}},
        {"allow output by alice to jobs of anyone from 10.0.0.0/", {"length from 0 to 32"}},
        {"allow output by alice to jobs of anyone from 10.0.0.0/-1", {"length from 0 to 32"}},
        {"allow output by alice to jobs of anyone from 10.0.0.0/8/8", {"length from 0 to 32"}},
        {"allow output by alice to jobs of anyone from 10.0.0.0/0x8", {"length"}},
        {"allow output by alice to jobs of anyone from 10.0.0/8", {"no address"}},
        {"allow output by alice to jobs of anyone from 10.0.0.256", {"no address"}},
        {"allow output by alice to jobs of anyone from 010.0.0.1", {"no address"}},
        {"allow output by alice to jobs of anyone from 2001:db8::/129", {"length from 0 to 128"}},
        {"allow output by alice to jobs of anyone from 2001:db8::1/32", {"bits behind", "2001:db8::/32"}},
        {"allow output by alice to jobs of anyone from fe80::1%eth0", {"no address"}},
        {"allow output by alice to jobs of anyone from 127.0.0.1", {"written: here"}},
        {"allow output by alice to jobs of anyone from 127.0.0.0/8", {"written: here"}},
        {"allow output by alice to jobs of anyone from ::1", {"written: here"}},
        {"allow output by alice to jobs of anyone from here, anywhere", {"nothing beside it"}},
        // What means harm.
        {std::string("allow output by ali\0ce to jobs of anyone from here", 50), {"character 20", "control"}},
        {"allow output by alice\nto jobs of anyone from here", {"character 22", "control"}},
        {"allow output by \x1b[2Jalice to jobs of anyone from here", {"control"}},
        {"allow output by " + std::string(500, 'x') + " to jobs of anyone from here", {"...", "no such user"}},
        {"allow output by alice" + std::string(max_rule_bytes, ' '), {"more than 4096"}},
        {std::string(max_rule_bytes, ','), {"begins with"}},
        {"allow output by " + std::string(2000, '@') + " to", {"no such group"}},
        {"allow output by \xff\xfe to jobs of anyone from here", {"no such user"}},
    };
    bool ok = true;
    for (const auto &input : wrong) {
        auto rule = parse_rule({input.rule, "FILE:3"}, names);
        ok &= expect(!rule.ok(), input.rule + " is taken");
        if (rule)
            continue;
        const auto &text = rule.failure().text;
        ok &= expect(text.starts_with("FILE:3: ") && text.find('\n') == std::string::npos && text.size() < 600, text);
        for (const char *word : input.says)
            ok &= expect(text.find(word) != std::string::npos, text + " lacks " + word);
    }
    // A list that is too long, and the longest.
    std::string many = "allow output by alice";
    for (std::size_t i = 1; i < max_rule_items; ++i)
        many += ",bob";
    ok &= expect(parse_rule({many + " to jobs of anyone from here", "F:1"}, names).ok(), "64 items");
    auto more = parse_rule({many + ",bob to jobs of anyone from here", "F:1"}, names);
    ok &= expect(!more && more.failure().text.find("at most 64") != std::string::npos, "65 items");
    assert_true(ok);
}

void blanks_and_commas_stand_as_one_likes(void **) {
    const char *same[] = {
        "allow observe,output by alice,@ops to jobs of themselves,bob from here,10.0.0.0/8",
        "  allow   observe ,output\tby alice , @ops to\tjobs of themselves , bob from here  ,10.0.0.0/8  ",
        "allow output, observe by 1001, @50 to jobs of themselves, 1002 from here, ::ffff:10.0.0.0/104",
        "allow observe, output, output by alice, @ops to jobs of themselves, bob from here, 10.0.0.0/8",
    };
    for (const char *text : same) {
        auto rule = parse_rule({text, "F:1"}, names);
        assert_true(expect(rule.ok(), text));
        assert_true(rule->allows);
        assert_int_equal(rule->actions, bit_of(Action::observe) | bit_of(Action::output));
        assert_true((rule->askers == std::vector<Party>{{Party::Kind::user, 1001}, {Party::Kind::group, 50}}));
        assert_true((rule->owners == std::vector<Party>{{Party::Kind::themselves}, {Party::Kind::user, 1002}}));
        assert_int_equal(rule->places.size(), 2);
        assert_string_equal(rule->places[1].network.text().c_str(), "10.0.0.0/8");
        assert_string_equal(rule->source.text.c_str(), text);
    }
    // What is expected decides what a word means.
    auto rule = parse_rule({"allow observe by from to jobs of from from anywhere", "F:1"}, names);
    assert_true(rule.ok() && rule->askers[0].id == 1005 && rule->owners[0].id == 1005);
    // What is built in is written as a rule, and is that rule.
    for (const auto &built_in : built_in_rules()) {
        auto parsed = parse_rule(built_in.source, names);
        assert_true(parsed.ok());
        assert_int_equal(parsed->allows, built_in.allows);
        assert_int_equal(parsed->actions, built_in.actions);
        assert_true(parsed->askers == built_in.askers && parsed->owners == built_in.owners);
        assert_true(parsed->places.size() == 1 && parsed->places[0].kind == built_in.places[0].kind);
    }
}

struct Hidden {
    Lines rules;
    const char *found; // the lines that can never match
};

std::string hidden_of(const Lines &lines, std::optional<uid_t> file_of = std::nullopt) {
    std::vector<Rule> rules;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto rule = parse_rule({lines[i], std::to_string(i + 1)}, names);
        if (!expect(rule.ok(), lines[i]))
            return "wrong";
        rules.push_back(*rule);
    }
    std::string found;
    for (const auto &error : never_matching(rules, file_of))
        found += (found.empty() ? "" : " ") + error.text.substr(0, error.text.find(':'));
    return found;
}

void a_rule_that_can_never_match_is_found(void **) {
    const Hidden cases[] = {
        {{}, ""},
        {site_rules, ""},
        {{"allow observe by alice to jobs of bob from here", "deny observe by alice to jobs of bob from here"}, "2"},
        {{"deny everything by anyone to jobs of anyone from anywhere",
          "allow observe by alice to jobs of bob from here",
          "allow debug by @ops to jobs of themselves from 10.0.0.0/8"},
         "2 3"},
        {{"allow observe by alice to jobs of bob from here",
          "deny everything by anyone to jobs of anyone from anywhere"},
         ""},
        {{"allow observe by alice to jobs of bob from here", "deny observe by anyone to jobs of bob from here"}, ""},
        {{"allow observe by alice to jobs of bob from here", "deny observe, output by alice to jobs of bob from here"},
         ""},
        // Several together.
        {{"allow observe by alice to jobs of bob from here", "allow output by alice to jobs of bob from here",
          "deny observe, output by alice to jobs of bob from here"},
         "3"},
        {{"allow observe by alice to jobs of anyone from here", "allow observe by bob to jobs of anyone from anywhere",
          "deny observe by alice, bob to jobs of carol from here"},
         "3"},
        {{"allow observe by anyone to jobs of anyone from here", "allow observe by anyone to jobs of anyone from ::/0",
          "allow observe by anyone to jobs of anyone from 0.0.0.0/0",
          "deny observe by anyone to jobs of anyone from anywhere"},
         "4"},
        {{"allow observe by anyone to jobs of anyone from ::/0",
          "allow observe by anyone to jobs of anyone from 0.0.0.0/0",
          "deny observe by anyone to jobs of anyone from anywhere"},
         ""},
        // Networks.
        {{"allow observe by anyone to jobs of anyone from 10.0.0.0/8",
          "deny observe by anyone to jobs of anyone from 10.7.0.0/16"},
         "2"},
        {{"allow observe by anyone to jobs of anyone from 10.7.0.0/16",
          "deny observe by anyone to jobs of anyone from 10.0.0.0/8"},
         ""},
        {{"allow observe by anyone to jobs of anyone from 10.0.0.0/9, 10.128.0.0/10",
          "allow observe by anyone to jobs of anyone from 10.192.0.0/10",
          "deny observe by anyone to jobs of anyone from 10.0.0.0/8"},
         "3"},
        {{"allow observe by anyone to jobs of anyone from 10.0.0.0/9, 10.128.0.0/10",
          "deny observe by anyone to jobs of anyone from 10.0.0.0/8"},
         ""},
        {{"allow observe by anyone to jobs of anyone from 2000::/3",
          "deny observe by anyone to jobs of anyone from 2001:db8::1"},
         "2"},
        {{"allow observe by anyone to jobs of anyone from ::/0",
          "deny observe by anyone to jobs of anyone from 10.0.0.0/8"},
         ""},
        {{"allow observe by anyone to jobs of anyone from 10.0.0.0/8",
          "deny observe by anyone to jobs of anyone from here"},
         ""},
        // Who is in a group may change; who has a number not.
        {{"allow observe by @project to jobs of anyone from here", "deny observe by alice to jobs of anyone from here"},
         ""},
        {{"allow observe by @ops to jobs of anyone from here", "deny observe by @50 to jobs of alice from here"}, "2"},
        {{"allow observe by 1001 to jobs of anyone from here", "deny observe by alice to jobs of anyone from here"},
         "2"},
        // The own jobs.
        {{"allow observe by anyone to jobs of themselves from here",
          "deny observe by alice to jobs of alice from here"},
         "2"},
        {{"allow observe by anyone to jobs of themselves from here", "deny observe by alice to jobs of bob from here"},
         ""},
        {{"allow observe by alice to jobs of alice from here", "deny observe by alice to jobs of themselves from here"},
         "2"},
        {{"allow observe by alice to jobs of bob from here", "deny observe by alice to jobs of themselves from here"},
         ""},
        {{"allow observe by anyone to jobs of @ops from here", "deny observe by @ops to jobs of themselves from here"},
         "2"},
        {{"allow observe by alice, bob to jobs of themselves from here",
          "deny observe by @ops to jobs of themselves from here"},
         ""},
    };
    bool ok = true;
    for (const auto &c : cases) {
        auto found = hidden_of(c.rules);
        ok &= expect(found == c.found, text_of(c.rules) + "found: " + found + ", not: " + c.found);
    }
    // In alice's own file.
    auto found =
        hidden_of({"deny observe by bob to jobs of bob from here", "deny output by bob to jobs of alice from here",
                   "deny output by bob to jobs of anyone from here"},
                  1001);
    ok &= expect(found == "1 3", found);
    assert_true(ok);
}

// A rule is found to be hidden only if no request that it matches comes to it: tried with all people and many places.
void what_is_hidden_decides_nothing(void **) {
    const Lines pool = {
        "allow observe by anyone to jobs of themselves from anywhere",
        "deny observe, output by alice, bob to jobs of alice, @ops from here, 10.0.0.0/8",
        "allow everything by @project to jobs of @project from 10.0.0.0/9",
        "allow output by anyone to jobs of alice from 10.128.0.0/9",
        "deny output by anyone to jobs of anyone from here",
        "allow output by alice to jobs of themselves from here, 10.0.0.0/8",
        "deny everything by @ops to jobs of themselves, bob from 2001:db8::/32",
        "allow observe by alice to jobs of alice from ::/0",
        "deny output by bob to jobs of alice from 10.128.0.0/10, here",
    };
    const char *places[] = {"here", "10.1.1.1", "10.129.0.0", "10.200.0.1", "11.0.0.1", "2001:db8::7", "fe80::1"};
    unsigned hidden = 0;
    for (std::size_t order = 0; order < 400; ++order) {
        std::vector<Rule> rules;
        for (std::size_t i = 0, at = order; i < 6; ++i, at = at * 5 + 3)
            rules.push_back(*parse_rule({pool[(at + order / 9) % pool.size()], std::to_string(i)}, names));
        auto never = never_matching(rules);
        hidden += static_cast<unsigned>(never.size());
        Policy policy(rules, UserRules::off);
        for (const auto &asker : people) {
            for (const auto &owner : people) {
                for (const char *place : places) {
                    for (auto action : {Action::observe, Action::output, Action::spawn}) {
                        auto by = policy.decide({asker.person, 1, location(place), owner.person, "", action}).by.place;
                        for (const auto &error : never)
                            assert_false(error.text.starts_with(by + ": "));
                    }
                }
            }
        }
    }
    assert_true(hidden > 100);
}

std::vector<Rule> rules_of(const Lines &lines) {
    std::vector<Rule> rules;
    for (std::size_t i = 0; i < lines.size(); ++i)
        rules.push_back(*parse_rule({lines[i], std::to_string(i + 1)}, names));
    return rules;
}

void a_rule_that_gives_others_a_part_only_is_found(void **) {
    const Hidden cases[] = {
        {{}, ""},
        {{"allow everything by @ops to jobs of anyone from 10.0.0.0/8"}, ""},
        {{"allow observe, output by @ops to jobs of anyone from 10.0.0.0/8"}, ""}, // commands take no more
        {{"allow input, debug by @ops to jobs of anyone from 10.0.0.0/8"}, "1"},
        {{"allow observe by @ops to jobs of anyone from here"}, "1"},
        {{"allow observe by @ops to jobs of root from 10.0.0.0/8"}, "1"},
        {{"allow everything by @ops to jobs of anyone from here"}, "1"},
        {{"allow everything by @ops to jobs of anyone from here, 10.0.0.0/8"}, ""},
        {{"allow everything by @ops to jobs of anyone from anywhere"}, ""},
        {{"allow everything by @ops to jobs of root from anywhere"}, "1"},
        // These speak of nobody else's jobs, and these allow nothing.
        {{"allow observe by @ops to jobs of themselves from 10.0.0.0/8",
          "allow observe by alice to jobs of alice from 10.0.0.0/8",
          "deny observe by alice to jobs of anyone from anywhere"},
         ""},
        // Two together, and two that are not for the same: users, owners, places.
        {{"allow observe, output by alice to jobs of bob from 10.0.0.0/8",
          "allow input, control, spawn, debug by @project to jobs of anyone from 10.1.0.0/16"},
         ""},
        {{"allow observe, output, control by alice to jobs of bob from anywhere",
          "allow input, spawn, debug by carol to jobs of anyone from anywhere"},
         "2"},
        {{"allow observe, output, control by alice to jobs of bob from anywhere",
          "allow input, spawn, debug by alice to jobs of carol from anywhere"},
         "2"},
        {{"allow observe, output, control by alice to jobs of bob from 10.0.0.0/8",
          "allow input, spawn, debug by alice to jobs of bob from 11.0.0.0/8, here"},
         "2"},
        {{"allow spawn by alice to jobs of bob from 10.0.0.0/8",
          "allow everything by anyone to jobs of themselves from anywhere"},
         "1"},
    };
    for (const auto &[lines, expected] : cases) {
        std::string found;
        for (const auto &error : without_effect_on_others(rules_of(lines)))
            found += (found.empty() ? "" : " ") + error.text.substr(0, error.text.find(':'));
        assert_string_equal(found.c_str(), expected);
    }
}

void what_is_found_lets_nobody_in(void **) {
    const Lines pool = {
        "allow everything by @ops to jobs of anyone from 10.0.0.0/8",
        "allow observe, output by anyone to jobs of anyone from anywhere",
        "allow input, control, spawn, debug by @project to jobs of alice from 10.1.0.0/16",
        "deny spawn by carol to jobs of anyone from 10.1.0.0/16",
        "allow everything by bob to jobs of @students from here",
        "allow control by bob, from to jobs of alice, dave from 2001:db8::/32, 10.1.1.1",
        "allow everything by @students to jobs of root, themselves from anywhere",
        "allow observe, input, spawn, debug, control by dave to jobs of @ops from 10.129.0.0",
    };
    unsigned found = 0, let_in = 0;
    for (std::size_t order = 0; order < 200; ++order) {
        Lines lines;
        for (std::size_t i = 0, at = order; i < 4; ++i, at = at * 5 + 3)
            lines.push_back(pool[(at + order / 7) % pool.size()]);
        auto rules = rules_of(lines);
        auto idle = without_effect_on_others(rules);
        found += static_cast<unsigned>(idle.size());
        Policy policy(rules, UserRules::off);
        for (const auto &asker : people) {
            for (const auto &owner : people) {
                for (const char *place : {"10.1.1.1", "10.129.0.0", "11.0.0.1", "2001:db8::7"}) {
                    if (asker.person.uid == owner.person.uid)
                        continue;
                    auto allows = [&](const Person &who, Action action) {
                        return policy.decide({who, 1, location(place), owner.person, "", action}).allowed &&
                               owner.person.uid != 0;
                    };
                    bool everything = std::all_of(std::begin(all_actions), std::end(all_actions),
                                                  [&](Action action) { return allows(asker.person, action); });
                    for (auto action : all_actions) {
                        Request request{asker.person, 1, location(place), owner.person, "", action};
                        auto decision = decide_on_others(policy, policy, request);
                        // A command, which the owner runs.
                        bool runs = (bit_of(action) & by_commands) != 0 && allows(asker.person, action) &&
                                    allows(owner.person, Action::observe) && allows(owner.person, action);
                        assert_int_equal(decision.allowed, everything || runs);
                        let_in += decision.allowed;
                        for (const auto &error : idle)
                            assert_false(decision.allowed && error.text.starts_with(decision.by.place + ": "));
                    }
                }
            }
        }
    }
    assert_true(found > 100 && let_in > 1000);
}

void rules_are_bounded(void **) {
    const Lines one = {"allow observe by alice to jobs of anyone from here"};
    auto site = load_site_policy(config(Lines(max_rules, one[0])), names);
    assert_true(site.errors.empty());
    assert_int_equal(site.rules.size(), max_rules);
    assert_int_equal(never_matching(site.rules).size(), max_rules - 1);
    // And what it takes to look at them: a user's file must not hold up who has it explained.
    auto some = never_matching(site.rules, std::nullopt, 10'000);
    assert_true(some.size() > 10 && some.size() < max_rules - 1);
    assert_true(some.back().kind == ErrorKind::limit);
    assert_non_null(std::strstr(some.back().text.c_str(), "it takes too long"));
    std::string rule, many = "deny everything by ", groups;
    for (unsigned i = 1; i <= 64; ++i) {
        many += fmt::format("{}{}", i == 1 ? "" : ",", i);
        groups += fmt::format("{}{}", i == 1 ? "" : ",", 1000 + i);
    }
    rule = many + " to jobs of " + groups + " from here";
    site = load_site_policy(config(Lines(150, rule.c_str())), names);
    assert_true(site.errors.empty());
    assert_true(never_matching(site.rules).back().kind == ErrorKind::limit);
    assert_true(without_effect_on_others(site.rules).empty()); // they refuse
    rule.replace(0, std::strlen("deny everything"), "allow spawn");
    rule.replace(rule.rfind("here"), std::strlen("here"), "10.0.0.0/8");
    site = load_site_policy(config(Lines(150, rule.c_str())), names);
    assert_true(site.errors.empty());
    assert_true(without_effect_on_others(site.rules).back().kind == ErrorKind::limit);
    site = load_site_policy(config(Lines(10'000, one[0])), names);
    assert_int_equal(site.errors.size(), 1);
    assert_true(refuses(site.policy, "alice", "alice", "site:1001", "10000 rules, more than 1000"));
    // A user's file.
    std::string file;
    for (int i = 0; i < 10'000; ++i)
        file += "deny observe by 1 to jobs of 1 from ::\n";
    auto user = parse_user_policy(file, "USER", names);
    assert_true(user.rules.empty() && user.errors.size() == 1);
    assert_non_null(strstr(user.errors[0].text.c_str(), "bytes"));
    user = parse_user_policy(std::string(max_user_file_bytes, '\n'), "USER", names);
    assert_true(user.rules.empty() && user.errors.empty());
    user = parse_user_policy(std::string("\0\n#\0\n", 5), "USER", names);
    assert_int_equal(user.errors.size(), 1);
    assert_true(user.errors[0].text.starts_with("USER:1: "));
    std::string commas(60'000, ',');
    user = parse_user_policy("allow " + commas, "USER", names);
    assert_int_equal(user.errors.size(), 1);
    assert_true(user.errors[0].text.size() < 200);
}

void a_decision_has_a_line_for_the_log(void **) {
    Policy policy = policy_of(site_rules);
    Request request{person("dave"), 4711,   Location::at(*parse_address("10.1.2.3")),
                    person("bob"),  "12.0", Action::spawn};
    assert_string_equal(log_line(request, policy.decide(request)).c_str(),
                        "tools: refused: uid 1004, pid 4711, from 10.1.2.3: spawn of job 12.0 of uid 1002, by site:1 "
                        "\"deny input, spawn by @students to jobs of anyone from anywhere\"");
    Request own{person("bob"), 0, Location::here(), person("bob"), "", Action::control};
    assert_string_equal(log_line(own, policy.decide(own)).c_str(),
                        "tools: allowed: uid 1002, from this host: control of jobs of uid 1002, by built in \"allow "
                        "everything by anyone to jobs of themselves from here\"");
    own.job = std::string(1 << 20, 'j') + "\nroot: allowed";
    own.job[3] = '\n';
    auto line = log_line(own, policy.decide(own));
    assert_true(line.size() < 400 && line.find('\n') == std::string::npos);
}

void names_of_this_host(void **) {
    SystemNames system;
    auto root = system.user("root");
    assert_true(root.ok() && *root == 0);
    auto nobody = system.user("no-such-user-of-pmixhost");
    assert_true(!nobody && nobody.failure().kind == ErrorKind::not_found);
    nobody = system.user("no-such-user-of-pmixhost");
    assert_true(!nobody && nobody.failure().kind == ErrorKind::not_found);
    auto group = system.group("no-such-group-of-pmixhost");
    assert_true(!group && group.failure().kind == ErrorKind::not_found);
    auto account = find_account("0");
    assert_true(account.ok());
    assert_string_equal(account->name.c_str(), "root");
    assert_false(account->person.gids.empty());
    assert_false(find_account("no-such-user-of-pmixhost").ok());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(without_rules_each_has_the_own_jobs_on_the_host),
        cmocka_unit_test(the_first_rule_that_matches_decides),
        cmocka_unit_test(a_user_tightens),
        cmocka_unit_test(a_user_loosens_only_where_the_site_lets_him),
        cmocka_unit_test(what_is_wrong_closes),
        cmocka_unit_test(a_wrong_rule_is_named_by_line_and_word),
        cmocka_unit_test(blanks_and_commas_stand_as_one_likes),
        cmocka_unit_test(a_rule_that_can_never_match_is_found),
        cmocka_unit_test(what_is_hidden_decides_nothing),
        cmocka_unit_test(a_rule_that_gives_others_a_part_only_is_found),
        cmocka_unit_test(what_is_found_lets_nobody_in),
        cmocka_unit_test(rules_are_bounded),
        cmocka_unit_test(a_decision_has_a_line_for_the_log),
        cmocka_unit_test(names_of_this_host),
    };
    return cmocka_run_group_tests_name("policy", tests, nullptr, nullptr);
}
