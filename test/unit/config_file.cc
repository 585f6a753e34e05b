// pmixhost.conf and the environment: every wrong input is named with its place and what is allowed,
// all of them at once; every right one arrives.
#include "common/config/config.h"
#include "common/config/config_man.h"
#include "common/config/option_values.h"
#include "common/text/nearest_name.h"
#include "common/text/shell_words.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using std::chrono::milliseconds;

namespace {

// A file of its own for each test, removed at the end.
class File {
  public:
    explicit File(const std::string &content, mode_t mode = 0644) {
        const char *base = std::getenv("TMPDIR");
        path_ = std::string(base && *base ? base : "/tmp") + "/pmixhost-config-XXXXXX";
        int fd = ::mkstemp(path_.data());
        [[maybe_unused]] auto n = ::write(fd, content.data(), content.size());
        ::fchmod(fd, mode);
        ::close(fd);
    }
    ~File() { ::unlink(path_.c_str()); }
    File(const File &) = delete;
    const std::string &path() const { return path_; }

  private:
    std::string path_;
};

Checked check(const std::string &content, std::vector<std::string> env = {}) {
    File file(content);
    Checked checked = check_config(file.path(), env);
    // Messages name the file; the tests do not care which.
    for (auto &error : checked.errors) {
        if (error.text.starts_with(file.path()))
            error.text.replace(0, file.path().size(), "FILE");
    }
    for (auto &origin : checked.loaded.origins) {
        if (origin.where.starts_with(file.path()))
            origin.where.replace(0, file.path().size(), "FILE");
    }
    return checked;
}

bool expect(bool ok, const std::string &what) {
    if (!ok)
        print_error("%s\n", what.c_str());
    return ok;
}

void test_words_are_split_as_by_a_shell(void **) {
    using Words = std::vector<std::string>;
    const std::pair<const char *, Words> right[] = {
        {"", {}},
        {" \t ", {}},
        {"apptainer exec a.sif", {"apptainer", "exec", "a.sif"}},
        {"  a\t b  ", {"a", "b"}},
        {"run 'the image'  \"a  b\"", {"run", "the image", "a  b"}},
        {"a '' \"\" b", {"a", "", "", "b"}},
        {"a'b c'd\"e\"", {"ab cde"}},
        {"a\\ b \\'c", {"a b", "'c"}},
        {R"(a "\"q\" \\ \n" '\n')", {"a", R"("q" \ \n)", R"(\n)"}},
        {R"(a '$HOME;|' \$x "\$y")", {"a", "$HOME;|", "$x", "$y"}},
        {"a --b=c,d '~' b~ * [x] {1} #y", {"a", "--b=c,d", "~", "b~", "*", "[x]", "{1}", "#y"}},
    };
    bool ok = true;
    for (const auto &[text, words] : right) {
        auto split = split_shell_words(text);
        ok &= expect(split.ok() && *split == words, text);
    }
    for (const char *text : {"'a", "a \"b", "a\\", "a $b", "a \"$b\"", "a `b`", "a;b", "a | b", "a & b", "a >b", "(a)",
                             "~/a b", "a ~", "'' a", "a\nb"})
        ok &= expect(!split_shell_words(text).ok(), text);
    ok &= expect(!split_shell_words(std::string(max_shell_text + 1, 'x')).ok(), "too long");
    assert_true(ok);
}

struct WrongInput {
    const char *content;
    const char *place;
    std::vector<const char *> says;
};

void test_every_wrong_input_is_named(void **) {
    const WrongInput wrong[] = {
        {"[transport]\nradix = 1\n", "FILE:2: ", {"transport.radix is 1", "from 2 to 256"}},
        {"[transport]\nradix = 257\n", "FILE:2: ", {"257", "from 2 to 256"}},
        {"[transport]\nradix = -4\n", "FILE:2: ", {"-4"}},
        {"[transport]\nradix = \"many\"\n", "FILE:2: ", {"\"many\"", "whole number"}},
        {"[transport]\nradix = 99999999999999999999\n", "FILE:2: ", {"TOML"}},
        {"a = 1\n[|x]\n[transport]\n", "FILE:2: ", {"TOML"}},
        {"a = 1\nb = \"\x01\"\n", "FILE:2: ", {"TOML", "control character"}},
        {"[transport]\nradix = 4.5\n", "FILE:2: ", {"fraction", "from 2 to 256"}},
        {"[transport]\nradix = true\n", "FILE:2: ", {"true or false"}},
        {"[transport]\nradix = [4]\n", "FILE:2: ", {"a list"}},
        {"[transport]\nradix = [\"4\"]\n", "FILE:2: ", {"a list"}},
        {"[transport]\nradix = 1979-05-27\n", "FILE:2: ", {"date"}},
        {"[transport]\nradics = 4\n", "FILE:2: ", {"transport.radics", "transport.radix?"}},
        {"radix = 4\n", "FILE:1: ", {"no option radix", "transport.radix?"}},
        {"[log]\nradix = 4\n", "FILE:2: ", {"transport.radix?"}},
        {"[transprot]\nradix = 4\n", "FILE:2: ", {"transprot.radix", "transport.radix?"}},
        {"\n\n[xyz]\n", "FILE:3: ", {"[xyz] is no section"}},
        {"transport = 4\n", "FILE:1: ", {"is a section"}},
        {"[transport.radix]\n", "FILE:1: ", {"is an option, not a section"}},
        {"[transport]\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq = 4\n", "FILE:2: ", {"pmixhost.conf(5)"}},
        {"[transport]\nports = 80\n", "FILE:2: ", {"from 1024"}},
        {"[transport]\nports = 0x10000\n", "FILE:2: ", {"65536", "65535"}},
        {"[transport]\nports = \"6100-6000\"\n", "FILE:2: ", {"\"6100-6000\""}},
        {"[transport]\nports = \"0-6000\"\n", "FILE:2: ", {"1024"}},
        {"[transport]\nports = \"6000-\"\n", "FILE:2: ", {"6000-"}},
        {"[transport]\nports = \"6000 - 6100\"\n", "FILE:2: ", {"6000 - 6100"}},
        {"[transport]\nports = [\"6000\"]\n", "FILE:2: ", {"a list"}},
        {"[transport]\ninterfaces = 3\n", "FILE:2: ", {"interface names"}},
        {"[transport]\ninterfaces = [3]\n", "FILE:2: ", {"interface names"}},
        {"[transport]\ninterfaces = [\"\"]\n", "FILE:2: ", {"interface names"}},
        {"[transport]\ninterfaces = [\"eth0;reboot\"]\n", "FILE:2: ", {"interface names"}},
        {"[mpi]\nremedies = [\"aspirin\"]\n", "FILE:2: ", {"may be empty", "openmpi-reachable"}},
        {"[mpi]\nremedies = \"pmix-store,aspirin\"\n", "FILE:2: ", {"pmix-store"}},
        {"[mpi]\nremedies = 1\n", "FILE:2: ", {"may be empty"}},
        {"[transport]\nconnect_timeout = 0\n", "FILE:2: ", {"from 100ms to 1h"}},
        {"[transport]\nconnect_timeout = \"30 s\"\n", "FILE:2: ", {"\"30 s\""}},
        {"[transport]\nconnect_timeout = \"30m\"\n", "FILE:2: ", {"\"5min\""}},
        {"[transport]\nconnect_timeout = \"1.5s\"\n", "FILE:2: ", {"\"1.5s\""}},
        {"[transport]\nconnect_timeout = \"\"\n", "FILE:2: ", {"\"\""}},
        {"[transport]\nconnect_timeout = \"99999999999999999999s\"\n", "FILE:2: ", {"allowed"}},
        {"[transport]\nconnect_timeout = 9223372036854775807\n", "FILE:2: ", {"allowed"}},
        {"[fence]\nmax_bytes = \"1KB\"\n", "FILE:2: ", {"\"64KiB\""}},
        {"[fence]\nmax_bytes = \"5GiB\"\n", "FILE:2: ", {"to 4GiB"}},
        {"[fence]\nmax_bytes = -1\n", "FILE:2: ", {"-1"}},
        {"[log]\nlevel = \"loud\"\n", "FILE:2: ", {"\"loud\"", "error, warning, info, debug"}},
        {"[log]\nlevel = 3\n", "FILE:2: ", {"error, warning, info, debug"}},
        {"[log]\nfile = \"relative.log\"\n", "FILE:2: ", {"absolute path"}},
        {"[log]\nfile = \"/var/log/%x\"\n", "FILE:2: ", {"%j"}},
        {"[log]\nfile = \"/var/log/%\"\n", "FILE:2: ", {"%j"}},
        {"[directory]\nbase = \"\"\n", "FILE:2: ", {"absolute path"}},
        {"[directory]\nbase = \"/tmp\\nx\"\n", "FILE:2: ", {"\"/tmp?x\"", "absolute path"}},
        {"[slurm]\nspawn_prefix = [\"a\"]\n", "FILE:2: ", {"slurm.spawn_prefix", "a command"}},
        {"[slurm]\nspawn_prefix = \"run 'image\"\n", "FILE:2: ", {"slurm.spawn_prefix", "a ' has no second one"}},
        {"[slurm]\nspawn_prefix = \"run $HOME/a.sif\"\n", "FILE:2: ", {"$ has no meaning", "script"}},
        {"[log\nlevel = 3\n", "FILE:1: ", {"TOML"}},
        {"[log]\nlevel = \"info\"\nlevel = \"info\"\n", "FILE:3: ", {"TOML"}},
        {"[log]\n\xff = 1\n", "FILE:2: ", {"TOML"}},
    };
    bool ok = true;
    for (const auto &input : wrong) {
        Checked checked = check(input.content);
        std::string context = std::string("for\n") + input.content;
        ok &= expect(checked.errors.size() == 1, context + fmt::format("there are {} errors", checked.errors.size()));
        if (checked.errors.empty())
            continue;
        const std::string &text = checked.errors.front().text;
        ok &= expect(text.starts_with(input.place), context + text);
        ok &= expect(text.find('\n') == std::string::npos, context + text);
        for (const char *word : input.says)
            ok &= expect(text.find(word) != std::string::npos, context + text + " lacks " + word);
    }
    assert_true(ok);
}

void test_all_errors_are_listed(void **) {
    Checked checked = check("[transport]\nradix = 1\nprots = 3\n[log]\nlevel = \"x\"\n"
                            "[fence]\ntimeout = \"5min\"\n",
                            {"PMIXHOST_MODEX_TIMEOUT=soon"});
    assert_int_equal(checked.errors.size(), 4);
    assert_true(checked.errors[3].text.starts_with("environment PMIXHOST_MODEX_TIMEOUT: "));
    // What is right still counts.
    assert_true(checked.loaded.settings.fence_timeout == milliseconds(300'000));

    File file("[transport]\nradix = 1\nprots = 3\n");
    auto loaded = load_config(file.path(), {});
    assert_false(loaded.ok());
    assert_non_null(strstr(loaded.failure().text.c_str(), "and 1 more"));
}

void test_right_values_arrive(void **) {
    Checked checked = check("[transport]\nports = \"6000-6100\"\ninterfaces = [\"ib0\", \"eth0\"]\n"
                            "radix = 0x10\nconnect_timeout = \"500ms\"\ndead_after = 7\n"
                            "[fence]\ntimeout = 0\nmax_bytes = \"1MiB\"\n"
                            "[directory]\nbase = \"/var/tmp\"\n"
                            "[log]\nlevel = \"debug\"\nfile = \"/var/log/%j.%s-%n-%u%%\"\n");
    for (const auto &error : checked.errors)
        print_error("%s\n", error.text.c_str());
    assert_true(checked.errors.empty());
    const Settings &s = checked.loaded.settings;
    assert_int_equal(s.transport_ports.first, 6000);
    assert_int_equal(s.transport_ports.last, 6100);
    assert_int_equal(s.transport_interfaces.size(), 2);
    assert_string_equal(s.transport_interfaces[0].c_str(), "ib0");
    assert_int_equal(s.transport_radix, 16);
    assert_true(s.transport_connect_timeout == milliseconds(500));
    assert_true(s.transport_dead_after == milliseconds(7000));
    assert_true(s.fence_timeout == milliseconds(0));
    assert_int_equal(s.fence_max_bytes, 1 << 20);
    assert_string_equal(s.directory_base.c_str(), "/var/tmp");
    assert_string_equal(s.log_level.c_str(), "debug");
    assert_string_equal(s.log_file.c_str(), "/var/log/%j.%s-%n-%u%%");
    // One port is a range too; a single interface needs no list.
    checked = check("mpi.remedies = []");
    assert_true(checked.errors.empty());
    assert_true(checked.loaded.settings.mpi_remedies.empty());
    checked = check("", {"PMIXHOST_MPI_REMEDIES=openmpi-reachable,pmix-store"});
    assert_true(checked.errors.empty());
    assert_int_equal(checked.loaded.settings.mpi_remedies.size(), 2);
    checked = check("transport.ports = 6000\ntransport.interfaces = \"lo\"");
    assert_true(checked.errors.empty());
    assert_int_equal(checked.loaded.settings.transport_ports.last, 6000);
    assert_int_equal(checked.loaded.settings.transport_interfaces.size(), 1);
}

// What the rules for tools mean is not the configuration's: a wrong one keeps tools away, not jobs.
void test_rules_for_tools_are_texts_with_places(void **) {
    File file("[tools]\npolicy = [\n  \"allow\", # one\n\n  'deny \"x\"', \"c\\u0000d\",\n]\n");
    auto loaded = load_config(file.path(), {});
    assert_true(loaded.ok());
    const auto &rules = loaded->settings.tools_policy;
    assert_int_equal(rules.size(), 3);
    assert_string_equal(rules[0].text.c_str(), "allow");
    assert_string_equal(rules[0].place.c_str(), (file.path() + ":3").c_str());
    assert_string_equal(rules[1].text.c_str(), "deny \"x\"");
    assert_string_equal(rules[1].place.c_str(), (file.path() + ":5").c_str());
    assert_true(rules[2].text == std::string("c\0d", 3) && rules[2].place == rules[1].place);
    Checked one = check("tools.policy = \"allow\"");
    assert_true(one.errors.empty() && one.loaded.settings.tools_policy.size() == 1);
    assert_true(one.loaded.settings.tools_policy[0].place.ends_with(":1"));
    // No user's environment has a word in it.
    one = check("", {"PMIXHOST_TOOLS_POLICY=allow everything by anyone to jobs of anyone from anywhere",
                     "PMIXHOST_TOOLS_ENABLED=off", "PMIXHOST_TOOLS_USER_POLICY=loosen"});
    assert_true(one.errors.empty() && one.loaded.notes.size() == 3);
    assert_true(one.loaded.settings.tools_policy.empty() && one.loaded.settings.tools_enabled == "on");
    assert_string_equal(one.loaded.settings.tools_user_policy.c_str(), "tighten");
    assert_int_equal(check("[tools]\npolicy = 3\n").errors.size(), 1);
    assert_int_equal(check("[tools]\npolicy = [[\"a\"]]\n").errors.size(), 1);
}

const Origin &origin_of(const Loaded &loaded, std::string_view key) {
    return *std::find_if(loaded.origins.begin(), loaded.origins.end(),
                         [&](const Origin &origin) { return origin.key == key; });
}

void test_origins_and_precedence(void **) {
    Checked checked = check("[fence]\ntimeout = 60\n[modex]\ntimeout = 70\n",
                            {"PMIXHOST_FENCE_TIMEOUT=2min", "PMIXHOST_TRANSPORT_PORTS=6000", "HOME=/root",
                             "PMIXHOST_DIRECTORY_BASE=/home", "PMIXHOST_FENCE_TIMEOT=3", "PMIXHOST_STEP=x"});
    assert_true(checked.errors.empty());
    const Loaded &loaded = checked.loaded;
    assert_int_equal(loaded.origins.size(), config_options().size());
    assert_true(loaded.settings.fence_timeout == milliseconds(120'000));
    assert_string_equal(origin_of(loaded, "fence.timeout").where.c_str(), "environment PMIXHOST_FENCE_TIMEOUT");
    assert_string_equal(origin_of(loaded, "modex.timeout").where.c_str(), "FILE:4");
    assert_string_equal(origin_of(loaded, "log.level").where.c_str(), "default");
    // What only the administrator may set stays as it was, and the user is told.
    assert_int_equal(loaded.settings.transport_ports.first, 0);
    assert_string_equal(loaded.settings.directory_base.c_str(), "/tmp");
    assert_int_equal(loaded.notes.size(), 3);
    assert_non_null(strstr(loaded.notes[2].c_str(), "did you mean PMIXHOST_FENCE_TIMEOUT?"));
}

void test_what_a_slip_may_have_meant(void **) {
    const std::vector<std::string> names = {"observe", "output", "input"};
    for (const char *slip : {"obsrve", "observ", "obserwe", "xobserve", "boserve"})
        assert_string_equal(nearest_name(slip, names).c_str(), "observe");
    assert_string_equal(nearest_name("put", names).c_str(), "input");
    assert_string_equal(nearest_name("everything", names).c_str(), "");
    assert_string_equal(nearest_name("", names).c_str(), "");
    assert_string_equal(nearest_name(std::string(1000, 'x'), names).c_str(), "");
    // The right name in another section, or in none.
    assert_string_equal(nearest_option("max_bytes").c_str(), "fence.max_bytes");
    assert_string_equal(nearest_option("log.evidence_directory").c_str(), "daemon.evidence_directory");
    assert_string_equal(nearest_option("fence.timeot").c_str(), "fence.timeout");
}

// A log of the site's own is not turned away.
void test_a_users_log_yields_to_the_sites(void **) {
    Checked free = check("", {"PMIXHOST_LOG_FILE=/home/u/log.%n"});
    assert_true(free.errors.empty() && free.loaded.notes.empty());
    assert_string_equal(free.loaded.settings.log_file.c_str(), "/home/u/log.%n");
    Checked taken = check("[log]\nfile = \"/var/log/%u.%n\"\n", {"PMIXHOST_LOG_FILE=/home/u/log.%n"});
    assert_true(taken.errors.empty() && taken.loaded.notes.size() == 1);
    assert_string_equal(taken.loaded.settings.log_file.c_str(), "/var/log/%u.%n");
    assert_int_equal(check("", {"PMIXHOST_LOG_FILE=log"}).errors.size(), 1);
    assert_int_equal(check("", {"PMIXHOST_LOG_FILE=/%x"}).errors.size(), 1);
    // A slip is known as one.
    assert_int_equal(check("", {"PMIXHOST_LOG_FIL=/l"}).loaded.notes.size(), 1);
}

void test_users_may_set_no_path_and_no_port(void **) {
    for (const auto &option : config_options()) {
        if (!option.user)
            continue;
        // But what only the own programs are started with, and what is none.
        assert_true(option.path == Option::Path::none || option.path == Option::Path::command ||
                    option.path == Option::Path::debug_stops);
        assert_false(std::holds_alternative<PortRange Settings::*>(option.member));
        // Of interfaces; a list of words is one of those that the table names.
        assert_true(!option.words.empty() ||
                    !std::holds_alternative<std::vector<std::string> Settings::*>(option.member));
    }
}

void test_files_that_are_not_read(void **) {
    assert_false(load_config("/nonexistent/pmixhost.conf", {}).ok());
    assert_false(load_config("/tmp", {}).ok());
    File everybody("[log]\nlevel = \"info\"\n", 0646);
    auto loaded = load_config(everybody.path(), {});
    assert_false(loaded.ok());
    assert_true(loaded.failure().kind == ErrorKind::denied);
    File huge(std::string(max_config_bytes + 1, '\n'));
    loaded = load_config(huge.path(), {});
    assert_false(loaded.ok());
    assert_true(loaded.failure().kind == ErrorKind::limit);
    File largest(std::string(max_config_bytes, '\n'));
    assert_true(load_config(largest.path(), {}).ok());
    // A FIFO without a writer does not stop us.
    File name("");
    ::unlink(name.path().c_str());
    assert_int_equal(::mkfifo(name.path().c_str(), 0600), 0);
    assert_false(load_config(name.path(), {}).ok());
}

void test_deep_nesting_is_an_error(void **) {
    std::string deep = "a = ";
    for (int i = 0; i < 100000; ++i)
        deep += '[';
    assert_false(check(deep).errors.empty());
    std::string dots = "[a";
    for (int i = 0; i < 1000; ++i)
        dots += ".a";
    assert_false(check(dots + "]\n").errors.empty());
}

// The dump of the settings, read again, gives the same settings.
void test_dump_is_a_configuration(void **) {
    Checked first = check("[transport]\nports = \"6000-6100\"\ninterfaces = [\"ib0\"]\n"
                          "connect_timeout = \"90s\"\n[fence]\ntimeout = 0\n"
                          "[directory]\nbase = \"/tmp/a \\\"b\\\" \\\\\"\n");
    assert_true(first.errors.empty());
    auto dump = [](const Settings &settings) {
        std::string text;
        for (const auto &option : config_options())
            text += fmt::format("{} = {}\n", option.key, show_option(option, settings));
        return text;
    };
    std::string text = dump(first.loaded.settings);
    Checked second = check(text);
    assert_true(second.errors.empty());
    assert_string_equal(dump(second.loaded.settings).c_str(), text.c_str());
    // The defaults are allowed values.
    assert_true(check(dump(Settings{})).errors.empty());
}

void test_man_page_is_in_step_with_the_table(void **) {
    std::ifstream file(PMIXHOST_TOP_SRCDIR "/contrib/man/pmixhost.conf.5");
    std::stringstream page;
    page << file.rdbuf();
    if (page.str().find(config_man_section()) == std::string::npos)
        fail_msg("the OPTIONS section of contrib/man/pmixhost.conf.5 is not what "
                 "`pmixhost config --man` prints");
}

void test_sample_is_a_configuration(void **) {
    std::ifstream file(PMIXHOST_TOP_SRCDIR "/contrib/pmixhost.conf");
    std::stringstream sample;
    sample << file.rdbuf();
    assert_true(sample.str().size() > 100);
    assert_true(check(sample.str()).errors.empty());
    // Nor is anything wrong in it when its examples are switched on.
    std::string enabled, line;
    while (std::getline(sample, line))
        enabled += (line.starts_with("#") && !line.starts_with("# ") ? line.substr(1) : line) + "\n";
    Checked checked = check(enabled);
    for (const auto &error : checked.errors)
        print_error("%s\n", error.text.c_str());
    assert_true(checked.errors.empty());
    for (const auto &origin : checked.loaded.origins)
        assert_true(expect(origin.source == Origin::Source::file, origin.key + " is not there"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_wrong_input_is_named),
        cmocka_unit_test(test_words_are_split_as_by_a_shell),
        cmocka_unit_test(test_all_errors_are_listed),
        cmocka_unit_test(test_right_values_arrive),
        cmocka_unit_test(test_origins_and_precedence),
        cmocka_unit_test(test_what_a_slip_may_have_meant),
        cmocka_unit_test(test_users_may_set_no_path_and_no_port),
        cmocka_unit_test(test_files_that_are_not_read),
        cmocka_unit_test(test_deep_nesting_is_an_error),
        cmocka_unit_test(test_dump_is_a_configuration),
        cmocka_unit_test(test_man_page_is_in_step_with_the_table),
        cmocka_unit_test(test_sample_is_a_configuration),
        cmocka_unit_test(test_rules_for_tools_are_texts_with_places),
        cmocka_unit_test(test_a_users_log_yields_to_the_sites),
    };
    return cmocka_run_group_tests_name("config_file", tests, nullptr, nullptr);
}
