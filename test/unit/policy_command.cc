// `pmixhost policy` and `pmixhost config --check`, as an administrator has them: output, errors, exit codes. What is
// asked is about root and the user of the test, who are on every host.
#include "common/base/result.h"
#include "common/policy/accounts.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <pty.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

constexpr char program[] = PMIXHOST_TOP_BUILDDIR "/tools/pmixhost";

// A directory of its own for the whole test.
struct Scratch {
    std::string path;
    Scratch() {
        const char *base = std::getenv("TMPDIR");
        path = std::string(base && *base ? base : "/tmp") + "/pmixhost-policy-XXXXXX";
        if (!::mkdtemp(path.data()))
            path.clear();
    }
    ~Scratch() { std::filesystem::remove_all(path); }
    Scratch(const Scratch &) = delete;

    std::string file(const std::string &name, const std::string &content, mode_t mode = 0644) const {
        std::string full = path + "/" + name;
        std::ofstream(full) << content;
        ::chmod(full.c_str(), mode);
        return full;
    }
    std::string read(const std::string &name) const {
        std::ifstream in(path + "/" + name);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }
};
const Scratch *scratch = nullptr; // of the group; no test changes it

int set_up(void **) {
    scratch = new Scratch;
    return scratch->path.empty();
}

int tear_down(void **) {
    delete scratch;
    return 0;
}

struct Outcome {
    int code = -1;
    std::string out, err;
};

Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), program);
    std::vector<char *> argv;
    for (auto &word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    std::string out = scratch->path + "/out", err = scratch->path + "/err";
    pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
        ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
        ::execv(program, argv.data());
        ::_exit(99);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, scratch->read("out"), scratch->read("err")};
}

void says(const std::string &text, const std::string &what) {
    if (text.find(what) == std::string::npos)
        fail_msg("'%s' is not in: %s", what.c_str(), text.c_str());
}

std::string site(const std::string &name, const std::string &rules, const std::string &more = "") {
    return scratch->file(name, "[tools]\n" + more + "policy = [\n" + rules + "]\n");
}

Outcome explain(const std::string &file, std::vector<std::string> more) {
    std::vector<std::string> words = {"policy", "explain", "--file", file};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
}

std::string nothing() {
    return scratch->file("nothing.policy", "# nothing\n");
}

void explain_names_the_rule_and_its_line(void **) {
    auto file =
        site("explain.conf", "  # comment\n  \"allow observe by @0 to jobs of anyone from here, 192.0.2.0/24\",\n"
                             "  \"deny output by root to jobs of themselves from here\",\n");
    auto result = explain(file, {"--user", "root", "--host", "192.0.2.7", "--owner", "root", "--job", "12.0",
                                 "--action", "observe", "--user-file", nothing()});
    assert_int_equal(result.code, 0);
    says(result.out, "allowed: root (uid 0) from 192.0.2.7: observe of job 12.0 of root (uid 0)");
    says(result.out, "by " + file + ":4: allow observe by @0 to jobs of anyone from here, 192.0.2.0/24");

    // Without one the resource manager is asked, which there is not, or which has no such job.
    result =
        explain(file, {"--user", "root", "--job", "4294901760.0", "--action", "observe", "--user-file", nothing()});
    assert_int_equal(result.code, 2);
    says(result.err, "whose job 4294901760.0 is: ");
    says(result.err, "next: say it with --owner");

    result = explain(file, {"--user", "0", "--action", "output", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.out, "refused: root (uid 0) from this host: output of jobs of root");
    says(result.out, "by " + file + ":5: deny output");

    result = explain(file, {"--user", "root", "--action", "control", "--user-file", nothing()});
    assert_int_equal(result.code, 0);
    says(result.out, "by built in: allow everything by anyone to jobs of themselves from here");
    result =
        explain(file, {"--user", "root", "--host", "2001:db8::1", "--action", "control", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.out, "by built in: deny everything");
    result = explain(file, {"--user", "daemon", "--owner", "root", "--action", "spawn", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.out, "spawn of jobs of root (uid 0)");
    // The own host by its name, and the loopback network.
    char host[256] = "";
    assert_int_equal(::gethostname(host, sizeof host - 1), 0);
    for (const char *here : {static_cast<const char *>(host), "127.0.0.1", "here"}) {
        result = explain(file, {"--user", "root", "--host", here, "--action", "debug", "--user-file", nothing()});
        assert_int_equal(result.code, 0);
        says(result.out, "from this host");
    }
}

// `who` of others' jobs: what the gate and the job's daemon would do.
void on_jobs_of_others_a_part_is_nothing(void **) {
    auto file = site("others.conf", "\"allow observe, output by root to jobs of anyone from 192.0.2.0/24\",\n"
                                    "\"allow everything by root to jobs of daemon from 198.51.100.0/24\",\n"
                                    "\"allow everything by daemon to jobs of anyone from here\",\n"
                                    "\"allow everything by bin to jobs of anyone from anywhere\",\n"
                                    "\"allow observe, input by root to jobs of daemon from 203.0.113.0/24\",\n"
                                    "\"allow observe, input by anyone to jobs of themselves from 203.0.113.0/24\"\n");
    auto of = [&](const char *user, const char *owner, const char *host, const char *action) {
        return explain(
            file, {"--user", user, "--owner", owner, "--host", host, "--action", action, "--user-file", nothing()});
    };
    auto result = of("root", "daemon", "192.0.2.7", "observe");
    assert_int_equal(result.code, 1);
    says(result.out, "refused: root (uid 0) from 192.0.2.7: observe of jobs of daemon");
    says(result.out, "by built in: deny everything");
    says(result.out, file + ":3 (\"allow observe, output by root to jobs of anyone from 192.0.2.0/24\") allows "
                            "observe, without effect: the owner runs the command for others, and observe is refused "
                            "to the owner from there.");
    result = of("root", "daemon", "203.0.113.7", "observe");
    assert_int_equal(result.code, 0);
    says(result.out, "by " + file + ":7: allow observe, input");
    says(result.out, "By a command of pmixhost that takes observe alone");
    result = of("root", "daemon", "203.0.113.7", "input"); // which no command is for
    assert_int_equal(result.code, 1);
    says(result.out, file +
                         ":7 (\"allow observe, input by root to jobs of daemon from 203.0.113.0/24\") allows input, "
                         "without effect: to jobs of others comes who may do everything there, and output is refused.");
    result = of("root", "daemon", "192.0.2.7", "control"); // refused by itself
    assert_int_equal(result.code, 1);
    assert_true(result.out.find("without effect") == std::string::npos);
    result = of("root", "daemon", "198.51.100.7", "observe");
    assert_int_equal(result.code, 0);
    says(result.out, "allowed: root (uid 0) from 198.51.100.7: observe of jobs of daemon");
    says(result.out, "by " + file + ":4: allow everything");
    says(result.out, "the gate (pmixhost-gate), which has to run on the host where the tool is");
    // Here is an address, where this host has one.
    result = of("bin", "daemon", "here", "spawn");
    assert_int_equal(result.code, 0);
    says(result.out, "allowed: bin ");
    bool has_address = !policy::addresses_of_host().empty();
    if (has_address)
        says(result.out, " from this host, as ");
    result = of("daemon", "bin", "here", "spawn");
    assert_int_equal(result.code, has_address ? 1 : 0);
    if (has_address)
        says(result.out, file + ":5 (\"allow everything by daemon to jobs of anyone from here\") allows it from here, "
                                "without effect: others are asked for the address");
    result = of("bin", "root", "192.0.2.7", "observe");
    assert_int_equal(result.code, 1);
    says(result.out, "by the gate (pmixhost-gate): nobody comes to jobs of root");
    // One's own need no more than a part.
    assert_int_equal(of("root", "root", "192.0.2.7", "output").code, 0);
    assert_int_equal(of("root", "root", "192.0.2.7", "spawn").code, 1);

    // The owner's own file may refuse, and gives nothing that the gate would hear of.
    auto own = scratch->file("others.policy", "deny debug by bin to jobs of anyone from anywhere\n");
    std::vector<std::string> words = {"--user",    "bin",      "--owner", "daemon",      "--host",
                                      "192.0.2.7", "--action", "observe", "--user-file", own};
    result = explain(file, words);
    assert_int_equal(result.code, 1);
    says(result.out, "by " + own + ":1: deny debug");
    says(result.out, file + ":6 (\"allow everything by bin to jobs of anyone from anywhere\") allows observe, without "
                            "effect");
    own = scratch->file("others.policy", "allow everything by bin to jobs of anyone from anywhere\n");
    result = explain(site("others2.conf", "", "user_policy = \"loosen\"\n"), words);
    assert_int_equal(result.code, 1);
    says(result.out, "by built in: deny everything");
    says(result.out, own + ":1 (\"allow everything by bin to jobs of anyone from anywhere\") allows observe, without "
                           "effect: to jobs of others comes whom the site's rules alone let.");
}

void a_users_own_file_counts(void **) {
    auto file = site("own.conf", "");
    auto own = scratch->file("own.policy", "\ndeny control by anyone to jobs of anyone from here\n"
                                           "allow observe by daemon to jobs of anyone from here\n");
    auto result = explain(file, {"--user", "root", "--action", "control", "--user-file", own});
    assert_int_equal(result.code, 1);
    says(result.out, "by " + own + ":2: deny control");
    std::vector<std::string> other = {"--user", "daemon", "--owner", "root", "--action", "observe", "--user-file", own};
    result = explain(file, other);
    assert_int_equal(result.code, 1);
    says(result.out, own + ":3 would allow it, but users may only tighten");
    file = site("loosen.conf", "", "user_policy = \"loosen\"\n");
    auto loosened = scratch->file("loosened.policy", "allow observe by root to jobs of anyone from 192.0.2.7\n");
    result = explain(file, {"--user", "root", "--host", "192.0.2.7", "--action", "observe", "--user-file", loosened});
    assert_int_equal(result.code, 0);
    says(result.out, "by " + loosened + ":1: allow observe");
    // Who may not look is not let in for anything else.
    file = site("blind.conf", "\"allow control by anyone to jobs of themselves from 192.0.2.0/24\"\n");
    result = explain(file, {"--user", "root", "--host", "192.0.2.7", "--action", "control", "--user-file", own});
    assert_int_equal(result.code, 1);
    says(result.out, "by built in: deny everything");
    says(result.out, "allows control, without effect: a tool that may not observe is not let in.");
    file = site("off.conf", "", "user_policy = \"off\"\n");
    assert_int_equal(explain(file, {"--user", "root", "--action", "control", "--user-file", own}).code, 0);
    // One that is wrong closes the jobs of its user.
    own = scratch->file("wrong.policy", "deny contrl by anyone to jobs of anyone from here\n");
    result = explain(site("own.conf", ""), {"--user", "root", "--action", "observe", "--user-file", own});
    assert_int_equal(result.code, 1);
    says(result.err, own + ":1: word 2, \"contrl\"");
    says(result.out, "for this user's jobs");
    // And one that is named, but not there.
    result = explain(site("own.conf", ""),
                     {"--user", "root", "--action", "observe", "--user-file", scratch->path + "/none"});
    assert_int_equal(result.code, 1);
}

void a_file_that_is_not_the_users_is_not_read(void **) {
    auto own = scratch->file("mine.policy", "");
    assert_true(policy::read_user_policy(own, ::getuid()).ok());
    auto foreign = policy::read_user_policy(own, ::getuid() + 1);
    assert_int_equal(foreign.ok(), ::getuid() == 0); // root's files are taken
    auto open = policy::read_user_policy(scratch->file("open.policy", "", 0664), ::getuid());
    // Not denied: that is what hides a file from who looks at another's (policy show --user).
    assert_true(!open && open.failure().kind == ErrorKind::invalid);
    assert_false(policy::read_user_policy(scratch->path, ::getuid()).ok());
    auto none = policy::read_user_policy(scratch->path + "/none", ::getuid());
    assert_true(!none && none.failure().kind == ErrorKind::not_found);
    none = policy::read_user_policy(own + "/tools.policy", ::getuid());
    assert_true(!none && none.failure().kind == ErrorKind::not_found);
    std::string fifo = scratch->path + "/fifo";
    assert_int_equal(::mkfifo(fifo.c_str(), 0600), 0);
    assert_false(policy::read_user_policy(fifo, ::getuid()).ok());
}

void what_is_wrong_refuses_and_says_where(void **) {
    auto file = site("wrong.conf", "\"allow observe by no-such-user-here to jobs of anyone from here\",\n"
                                   "\"allow everything by anyone to jobs of anyone from anywhere\"\n");
    auto result = explain(file, {"--user", "root", "--action", "observe", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.err, file + ":3: word 4, \"no-such-user-here\": there is no such user");
    says(result.out, "refused");
    // The file of the configuration is wrong elsewhere.
    file = scratch->file("elsewhere.conf", "[fence]\ntimeout = \"soon\"\n");
    result = explain(file, {"--user", "root", "--action", "observe", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.err, file + ":2: ");
    file = scratch->file("off2.conf", "[tools]\nenabled = \"off\"\n");
    result = explain(file, {"--user", "root", "--action", "observe", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.out, "by " + file + ":2: tools.enabled = \"off\"");
}

void a_wrong_command_line_is_another_code(void **) {
    auto file = site("usage.conf", "");
    const std::vector<std::vector<std::string>> wrong = {
        {"policy"},
        {"policy", "explode"},
        {"policy", "explain"},
        {"policy", "explain", "--action", "fly"},
        {"policy", "explain", "--action", "observe", "--user", "no-such-user-here"},
        {"policy", "explain", "--action", "observe", "--owner", "no-such-user-here"},
        {"policy", "explain", "--action", "observe", "--host", "256.1.1.1/8", "--user", "root"},
        {"policy", "explain", "--action", "observe", "--what"},
        {"policy", "show", "--action", "observe"},
    };
    for (const auto &words : wrong) {
        auto result = run(words);
        assert_int_equal(result.code, 2);
        says(result.err, "pmixhost: error: ");
        says(result.err, "see pmixhost policy --help");
    }
    for (const char *command : {"show", "explain"}) {
        auto result = run({"policy", command, "--help"});
        assert_int_equal(result.code, 0);
        says(result.out, "--user-file");
    }
}

void show_has_all_rules_with_their_places(void **) {
    auto file = site("show.conf",
                     "\"allow observe by root to jobs of anyone from here\",\n"
                     "\"deny observe by root to jobs of root from here\"\n",
                     "max_connections = 7\n");
    auto own = scratch->file("show.policy", "deny debug by anyone to jobs of anyone from here\n");
    auto result = run({"policy", "show", "--file", file, "--user", "root", "--user-file", own});
    assert_int_equal(result.code, 0);
    says(result.out, "tools.enabled = \"on\"  # default");
    says(result.out, "tools.max_connections = 7  # " + file + ":2");
    says(result.out, "\nio.cache = \"1MiB\"  # default");
    says(result.out, "publish.max_bytes = \"64MiB\"  # default");
    says(result.out, "allow observe by root to jobs of anyone from here  # " + file + ":4");
    says(result.out, "# " + file + ":5");
    says(result.out, "deny debug by anyone to jobs of anyone from here  # " + own + ":1");
    says(result.out, "allow everything by anyone to jobs of themselves from here  # built in");
    says(result.err, "warning: " + file + ":5: the rule can never match: " + file + ":4 decides");
    says(result.err, "warning: " + file + ":4: the rule gives nothing on jobs of others: ");
    file = site("show2.conf", "\"allow\"\n");
    result = run({"policy", "show", "--file", file, "--user", "root", "--user-file", own});
    assert_int_equal(result.code, 1);
    says(result.out, "Every tool is refused because of " + file + ":3");
}

void both_are_json_too(void **) {
    auto file = site("json.conf", "\"allow observe by root to jobs of anyone from here\"\n");
    auto result = run({"policy", "show", "--json", "--file", file, "--user", "root", "--user-file", nothing()});
    assert_int_equal(result.code, 0);
    says(result.out, "\"place\": \"" + file + ":3\"");
    says(result.out, "\"closed_by\": null");
    says(result.out, "\"without_effect_on_others\": [\n    \"" + file + ":3: the rule gives nothing");
    says(result.out, "\"tools.max_connections\"");
    result = explain(
        file, {"--json", "--user", "root", "--owner", "daemon", "--action", "control", "--user-file", nothing()});
    assert_int_equal(result.code, 1);
    says(result.out, "\"allowed\": false");
    says(result.out, "\"place\": \"built in\"");
}

// As somebody at a terminal has it.
std::string at_terminal(const std::vector<std::string> &words, bool no_color) {
    int terminal = -1;
    pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
        ::setenv("TERM", "xterm", 1);
        ::unsetenv("NO_COLOR");
        if (no_color)
            ::setenv("NO_COLOR", "1", 1);
        std::vector<char *> argv{const_cast<char *>(program)};
        for (const auto &word : words)
            argv.push_back(const_cast<char *>(word.c_str()));
        argv.push_back(nullptr);
        ::execv(program, argv.data());
        ::_exit(99);
    }
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    ::waitpid(pid, nullptr, 0);
    ::close(terminal);
    return text;
}

void a_terminal_has_colours(void **) {
    auto file = site("colours.conf", "\"deny debug by root to jobs of root from here\"\n");
    std::vector<std::string> debug = {"policy", "explain",     "--file",  file,       "--user",
                                      "root",   "--user-file", nothing(), "--action", "debug"};
    says(at_terminal(debug, false), "\x1b[31mrefused\x1b[0m: root");
    says(at_terminal(debug, true), "refused: root");
    debug.back() = "observe";
    says(at_terminal(debug, false), "\x1b[32mallowed\x1b[0m: root");
    says(at_terminal({"policy", "show", "--file", file, "--user", "root"}, false), "\x1b[1m# The site's rules");
    auto shown = at_terminal({"config", "--show", "--file", file}, false);
    says(shown, "\x1b[1mtools.policy = ");
    says(shown, "\ntools.enabled = ");
    for (const auto &words : std::vector<std::vector<std::string>>{
             debug, {"policy", "show", "--file", file}, {"config", "--show", "--file", file}})
        assert_true(run(words).out.find('\x1b') == std::string::npos); // a file has none
}

void config_check_reads_the_rules(void **) {
    auto file = site("check.conf", "\"allow observe by root to jobs of anyone from here\",\n"
                                   "\"deny observe by root to jobs of root from here\",\n"
                                   "\"allow observe by no-such-user-here to jobs of anyone from here\"\n");
    auto result = run({"config", "--check", file});
    assert_int_equal(result.code, 1);
    says(result.err, file + ":5: word 4, \"no-such-user-here\"");
    says(result.err, file + ":4: the rule can never match: " + file + ":3 decides");
    file = site("check2.conf", "\"allow everything by root to jobs of anyone from 192.0.2.0/24\"\n");
    result = run({"config", "--check", file});
    assert_int_equal(result.code, 0);
    assert_string_equal(result.err.c_str(), "");
    file = site("check3.conf", "\"allow input, debug by root to jobs of anyone from 192.0.2.0/24\"\n");
    result = run({"config", "--check", file});
    assert_int_equal(result.code, 0);
    assert_string_equal(result.err.c_str(),
                        ("warning: " + file +
                         ":3: the rule gives nothing on jobs of others: who comes to these needs everything there, and "
                         "no rule gives observe, output, control, spawn as well\n")
                            .c_str());
    // What is shown can be read again, whatever it has.
    file = scratch->file("odd.conf", "tools.policy = \"a\\u0000\\\"\\\\ \\u001b[2J\"\n");
    result = run({"config", "--show", "--file", file});
    assert_int_equal(result.code, 0);
    assert_true(result.out.find('\x1b') == std::string::npos);
    says(result.out, "tools.policy = [\"a\\u0000\\\"\\\\ \\u001b[2J\"]");
    assert_int_equal(run({"config", "--show", "--json", "--file", file}).code, 0);
    file = scratch->file("again.conf", result.out);
    assert_string_equal(run({"config", "--show", "--file", file}).err.c_str(), "");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(explain_names_the_rule_and_its_line),
        cmocka_unit_test(on_jobs_of_others_a_part_is_nothing),
        cmocka_unit_test(a_users_own_file_counts),
        cmocka_unit_test(a_file_that_is_not_the_users_is_not_read),
        cmocka_unit_test(what_is_wrong_refuses_and_says_where),
        cmocka_unit_test(a_wrong_command_line_is_another_code),
        cmocka_unit_test(show_has_all_rules_with_their_places),
        cmocka_unit_test(both_are_json_too),
        cmocka_unit_test(a_terminal_has_colours),
        cmocka_unit_test(config_check_reads_the_rules),
    };
    return cmocka_run_group_tests_name("policy_command", tests, set_up, tear_down);
}
