// The command line of `pmixhost run`: programs and their options, and where tasks go.
#include "tools/run/layout.h"
#include "tools/run/run_options.h"

#include <cstring>

#include "test/unit/check.h"

#include <sstream>

using namespace pmixhost;

namespace {

std::vector<std::string> words(const std::string &line) {
    std::istringstream in(line);
    std::vector<std::string> out;
    for (std::string word; in >> word;)
        out.push_back(word);
    return out;
}

RunOptions parse(const std::string &line) {
    auto command = parse_run(words(line));
    if (!command)
        print_error("%s: %s\n", line.c_str(), command.failure().text.c_str());
    assert_true(command.ok());
    return command->options;
}

std::string failure(const std::string &line) {
    auto command = parse_run(words(line));
    if (command)
        print_error("%s is taken\n", line.c_str());
    assert_false(command.ok());
    assert_true(command.failure().text.find('\n') == std::string::npos);
    return command.failure().text;
}

void programs_are_named_as_sets(void **) {
    auto sets = [](const std::string &line, std::string_view environment = {}) {
        auto command = parse_run(words(line), environment);
        return command ? format_process_sets(command->options.process_sets) : command.failure().text;
    };
    assert_string_equal(sets("-n 2 a").c_str(), "");
    assert_string_equal(sets("-n 2 --pset x a : -n 3 b : -n 1 --pset=y c").c_str(), "x=0-1;y=5");
    assert_string_equal(sets("-n 2 --pset x a : -n 1 b : -n 2 --pset x c").c_str(), "x=0-1,3-4");
    assert_string_equal(sets("-n 2 --pset x a", "all=*;one=0").c_str(), "all=0-1;one=0;x=0-1");
    assert_non_null(strstr(sets("-n 2 --pset x a", "x=0").c_str(), "'x' is in PMIXHOST_PSETS already"));
    assert_non_null(strstr(sets("-n 2 a", "x=2").c_str(), "PMIXHOST_PSETS: process set 'x'"));
    assert_non_null(strstr(sets("-n 2 --pset a=b a").c_str(), "--pset: "));
}

std::string shape(const std::vector<std::vector<Rank>> &hosts) {
    std::string out;
    for (const auto &ranks : hosts)
        out += (out.empty() ? "" : " ") + rank_list(ranks);
    return out;
}

std::string joined(const std::vector<std::string> &argv) {
    std::string out;
    for (const auto &word : argv)
        out += (out.empty() ? "" : "|") + word;
    return out;
}

void test_options_end_at_the_program(void **) {
    auto options = parse("-n 4 --hosts 2 -l prog -n 7 --label -- x --help");
    assert_int_equal(options.apps.size(), 1);
    assert_string_equal(joined(options.apps[0].argv).c_str(), "prog|-n|7|--label|--|x|--help");
    assert_true(options.label);
    assert_int_equal(options.hosts.size(), 2);
    assert_string_equal(options.hosts[1].c_str(), "host1");
    assert_string_equal(joined(parse("-l -- prog -l").apps[0].argv).c_str(), "prog|-l");
}

void test_programs_between_colons(void **) {
    auto split = split_programs(words("-n 2 a b : -n 3 c : d:e"));
    assert_int_equal(split.size(), 3);
    assert_string_equal(joined(split[2]).c_str(), "d:e");
    assert_int_equal(split_programs({}).size(), 1);

    auto options = parse("-N 2 -n 2 a -n 9 : -n 3 b : --ntasks=1 c");
    assert_int_equal(options.apps.size(), 3);
    assert_string_equal(joined(options.apps[0].argv).c_str(), "a|-n|9");
    assert_string_equal(rank_list(options.apps[0].ranks).c_str(), "0-1");
    assert_string_equal(rank_list(options.apps[1].ranks).c_str(), "2-4");
    assert_string_equal(rank_list(options.apps[2].ranks).c_str(), "5");
    assert_string_equal(shape(options.ranks_by_host).c_str(), "0-2 3-5");
}

void test_defaults_are_sruns(void **) {
    auto options = parse("-N 3 prog");
    assert_string_equal(shape(options.ranks_by_host).c_str(), "0 1 2");
    assert_false(options.kill_on_bad_exit);
    assert_true(options.wait.count() == 0);
    assert_true(options.input == Rank{0});
    // Fewer tasks than hosts: fewer hosts, and a word about it.
    options = parse("-N 5 -n 2 prog");
    assert_int_equal(options.hosts.size(), 2);
    assert_int_equal(options.notes.size(), 1);
}

void test_values(void **) {
    auto options = parse("-N a,b-1.x -n2 -K --wait=500ms --kill-wait 1 --timeout 2min -i 1 "
                         "--fault kill,host=1,after=1 --fault stop,host=0,at=contact -u prog");
    assert_string_equal(options.hosts[1].c_str(), "b-1.x");
    assert_true(options.kill_on_bad_exit && options.unbuffered);
    assert_true(options.wait.count() == 500);
    assert_true(options.kill_wait.count() == 1000);
    assert_true(options.time_limit.count() == 120000);
    assert_true(options.input == Rank{1});
    assert_int_equal(options.faults.size(), 2);
    assert_false(parse("--kill-on-bad-exit=0 prog").kill_on_bad_exit);
    assert_true(parse("--kill-on-bad-exit=1 prog 0").kill_on_bad_exit);
    assert_false(parse("-i none prog").input.has_value());
}

void test_wrong_command_lines_are_named(void **) {
    struct {
        const char *line, *says;
    } wrong[] = {
        {"", "which program"},
        {"-n 2", "which program"},
        {"a :", "which program"},
        {": a", "which program"},
        {"a : : b", "which program"},
        {"--bogus a", "no option --bogus"},
        {"a : -l b", "no option -l"},
        {"-n", "--ntasks"},
        {"-n 0 a", "from 1"},
        {"-n -1 a", "'-1'"},
        {"-n 1x a", "'1x'"},
        {"-n 99999999999999999999 a", "from 1"},
        {"-n 60000 a : -n 60000 b", "more than"},
        {"-n 2 -n 3 a", "--ntasks"},
        {"a : -n x b", "'x'"},
        {"-N 0 a", "--hosts '0'"},
        {"-N 5000 a", "1 to 4096"},
        {"-N a,a prog", "twice"},
        {"-N a,/b prog", "'/b'"},
        {"-N ,a prog", "''"},
        {"-m sideways a", "slot, node"},
        {"-m plane=0 a", "slot, node"},
        {"-m plane= a", "slot, node"},
        {"-m ppr:2 a", "slot, node"},
        {"-m ppr::node a", "slot, node"},
        {"-N 2 -n 5 -m ppr:2:node a", "do not fit"},
        {"-N 2 -n 4 -m plane=4 a", "host 1 would get no task"},
        {"-N 2 -n 2 -m list=0,2 a", "'2' is no host"},
        {"-N 2 -n 2 -m list=0 a", "there are 2"},
        {"-N 2 -n 2 -m list=1,1 a", "host 0 would get no task"},
        {"-i 4 -n 4 a", "0 to 3"},
        {"-i x a", "none, or a task"},
        {"--kill-on-bad-exit=2 a", "0, 1"},
        {"--wait soon a", "500ms"},
        {"--timeout -1 a", "'-1'"},
    };
    bool ok = true;
    for (const auto &input : wrong) {
        std::string text = failure(input.line);
        if (text.find(input.says) == std::string::npos) {
            print_error("'%s': %s\n", input.line, text.c_str());
            ok = false;
        }
    }
    assert_true(ok);
}

void test_help_is_no_error(void **) {
    auto command = parse_run({"--help"});
    assert_true(command.ok());
    assert_true(command->help.find("{1}") == std::string::npos);
    for (const char *word : {"--hosts", "--map-by", "Exit code", "PROGRAM"})
        assert_true(command->help.find(word) != std::string::npos);
}

void test_layouts(void **) {
    struct {
        const char *policy;
        Rank tasks;
        HostIndex hosts;
        const char *shape;
    } layouts[] = {
        {"slot", 7, 3, "0-2 3-4 5-6"},   {"block", 4, 2, "0-1 2-3"},         {"node", 7, 3, "0,3,6 1,4 2,5"},
        {"cyclic", 2, 2, "0 1"},         {"plane=2", 7, 3, "0-1,6 2-3 4-5"}, {"plane=100", 3, 1, "0-2"},
        {"ppr:3:node", 5, 2, "0-2 3-4"}, {"list=1,0,1,1", 4, 2, "1 0,2-3"},
    };
    for (const auto &layout : layouts) {
        auto placed = place_tasks(layout.policy, layout.tasks, layout.hosts);
        assert_true(placed.ok());
        assert_string_equal(shape(*placed).c_str(), layout.shape);
        // Whatever the policy, it is a map that the daemons take.
        std::vector<std::string> hosts;
        for (HostIndex h = 0; h < layout.hosts; ++h)
            hosts.push_back("h" + std::to_string(h));
        assert_true(JobMap::create(hosts, *placed).ok());
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_named_as_sets),
        cmocka_unit_test(test_options_end_at_the_program),
        cmocka_unit_test(test_programs_between_colons),
        cmocka_unit_test(test_defaults_are_sruns),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_wrong_command_lines_are_named),
        cmocka_unit_test(test_help_is_no_error),
        cmocka_unit_test(test_layouts),
    };
    return cmocka_run_group_tests_name("local_cli", tests, nullptr, nullptr);
}
