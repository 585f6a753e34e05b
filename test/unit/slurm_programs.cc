// Which program each rank runs: srun's command line, the file of --multi-prog, the components of a
// het step, and the word of the task map that tells the daemons.
#include "plugins/slurm/base/app_list.h"
#include "plugins/slurm/shim/multi_prog.h"
#include "plugins/slurm/shim/srun_command.h"
#include "plugins/slurm/shim/step_description.h"

#include <cstring>
#include <numeric>
#include <random>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using Words = std::vector<std::string>;

static const option options[] = {
    {"nodes", required_argument, nullptr, 'N'},
    {"ntasks", required_argument, nullptr, 'n'},
    {"ntasks-per-node", required_argument, nullptr, 300},
    {"kill-on-bad-exit", optional_argument, nullptr, 'K'},
    {"overcommit", no_argument, nullptr, 'O'},
    {"multi-prog", no_argument, nullptr, 301},
    {"het-group", required_argument, nullptr, 302},
    {"mem", required_argument, nullptr, 303},
    {"mem-bind", required_argument, nullptr, 304},
    {"label", no_argument, nullptr, 'l'},
    {"container-image", required_argument, nullptr, 9000}, // of a SPANK plugin
    {nullptr, 0, nullptr, 0},
};
static const char *letters = "+N:n:K::Ol";

static std::vector<CommandPart> split(const Words &line) {
    return split_command_line(line, options, letters);
}
static void expect_program(const Words &line, const Words &program) {
    auto parts = split(line);
    assert_int_equal(parts.size(), 1);
    assert_true(parts[0].argv == program);
}

static void the_program_follows_the_options(void **) {
    expect_program({"srun", "a.out"}, {"a.out"});
    expect_program({"srun", "-N", "2", "-n4", "a.out", "-n", "x"}, {"a.out", "-n", "x"});
    expect_program({"srun", "-OlN2", "-OlN", "2", "a", "b"}, {"a", "b"});
    expect_program({"srun", "-K", "1", "x"}, {"1", "x"}); // an optional value is in the word
    expect_program({"srun", "-K1", "--kill-on-bad-exit", "x"}, {"x"});
    expect_program({"srun", "--nodes=2", "--ntasks", "4", "a"}, {"a"});
    expect_program({"srun", "--container-image", "ubuntu", "a"}, {"a"});
    expect_program({"srun", "--ntasks-p", "2", "--over", "a"}, {"a"}); // abbreviated
    expect_program({"srun", "--mem", "1", "a"}, {"a"});
    expect_program({"srun", "--", "-a", "--"}, {"-a", "--"});
    expect_program({"srun", "-N2", "-"}, {"-"});
    expect_program({"srun", "-N"}, {});
    expect_program({"srun"}, {});
}

static void what_is_not_understood_is_not_guessed(void **) {
    assert_true(split({"srun", "--new-option", "x", "a"}).empty());
    assert_true(split({"srun", "--n", "2", "a"}).empty()); // nodes or ntasks
    assert_true(split({"srun", "-Z", "a"}).empty());
    assert_true(split({"srun", "-:", "a"}).empty());
    assert_true(split({}).empty());
    assert_true(programs_of_srun().parts.empty()); // this is not srun
    assert_true(apps_of_step({}, 4, 0).empty());
}

static void colons_divide_a_het_step(void **) {
    auto parts = split({"srun", "-N1", "a", "x", ":", "--het-group=1-2", "-N", "2", "b", ":", "c"});
    assert_int_equal(parts.size(), 3);
    assert_true(parts[0].argv == (Words{"a", "x"}));
    assert_true(parts[1].argv == (Words{"b"}));
    assert_string_equal(parts[1].het_groups.c_str(), "1-2");
    assert_true(parts[2].argv == (Words{"c"}));
    parts = split({"srun", "-N1", ":", "-N2", "b"});
    assert_int_equal(parts.size(), 2);
    assert_true(parts[0].argv.empty());
}

static std::string text_of(const std::vector<App> &apps) {
    std::string text;
    for (const auto &app : apps) {
        for (Rank rank : app.ranks)
            text += fmt::format("{},", rank);
        text += ':';
        for (const auto &word : app.argv)
            text += word + "|";
        text += '\n';
    }
    return text;
}
static void expect_apps(const std::vector<App> &apps, const char *text) {
    assert_string_equal(text_of(apps).c_str(), text);
}

static void an_ordinary_step_is_one_program(void **) {
    SrunPrograms programs;
    programs.parts = {{{"a", "x"}, {}}};
    expect_apps(apps_of_step(programs, 4, 0), ":a|x|\n");
}

static void a_launcher_without_a_program_has_none(void **) {
    SrunPrograms programs; // not known
    assert_true(check_holder(programs, "sleep infinity").ok());
    programs.parts = {{{"sleep", "infinity"}, {}}};
    assert_true(check_holder(programs, "sleep infinity").ok());
    programs.parts = {{{"./app", "--mpi=x", "sleep", "infinity"}, {}}};
    auto checked = check_holder(programs, "sleep infinity");
    assert_int_equal(checked.failure().kind, ErrorKind::invalid);
    assert_non_null(strstr(checked.failure().text.c_str(), "'./app' is none"));
    programs.parts = {{{"sleep", "infinity"}, {}}, {{"sleep", "infinity"}, {}}};
    assert_false(check_holder(programs, "sleep infinity").ok());
    programs.parts = {{{}, {}}};
    assert_false(check_holder(programs, "sleep infinity").ok());
}

static void each_component_is_a_program(void **) {
    SrunPrograms programs;
    programs.parts = {{{"a"}, {}}, {{"b", "x"}, {}}};
    programs.tasks = {2, 3};
    expect_apps(apps_of_step(programs, 5, 2), "0,1,:a|\n2,3,4,:b|x|\n");
    expect_apps(apps_of_step(programs, 5, 0), "0,1,:a|\n2,3,4,:b|x|\n");
    // What does not fit is not used.
    assert_true(apps_of_step(programs, 5, 1).empty());
    assert_true(apps_of_step(programs, 6, 0).empty());
    assert_true(apps_of_step(programs, 4, 0).empty());
    programs.tasks = {2, 0, 3};
    assert_true(apps_of_step(programs, 5, 0).empty());

    programs.tasks = {1, 2, 3};
    programs.parts = {{{"a"}, "0-2"}};
    expect_apps(apps_of_step(programs, 6, 3), "0,:a|\n1,2,:a|\n3,4,5,:a|\n");
    programs.parts = {{{"a"}, "0,1"}, {{"b"}, "2"}};
    expect_apps(apps_of_step(programs, 6, 3), "0,:a|\n1,2,:a|\n3,4,5,:b|\n");
    programs.parts = {{{}, "0-1"}, {{"b"}, {}}};
    expect_apps(apps_of_step(programs, 6, 3), "0,:b|\n1,2,:b|\n3,4,5,:b|\n");
    // Which ranks are apart is clear even where the command lines are not.
    programs.parts = {{{"a"}, "x"}, {{"b"}, "4-2"}};
    expect_apps(apps_of_step(programs, 6, 3), "0,:\n1,2,:\n3,4,5,:\n");
    programs.parts.clear();
    expect_apps(apps_of_step(programs, 6, 3), "0,:\n1,2,:\n3,4,5,:\n");
}

static void expect_multi(std::string_view text, Rank tasks, const char *wanted) {
    auto apps = parse_multi_prog(text, tasks, {});
    if (!apps)
        fail_msg("%s", apps.failure().text.c_str());
    expect_apps(*apps, wanted);
}

static void a_multi_prog_file_is_read_as_slurm_does(void **) {
    expect_multi("0 a\n1-2 b x y\n", 3, "0,:a|\n1,2,:b|x|y|\n");
    expect_multi("# comment\n\n  3,0 a\n\t1-2\tb\n", 4, "0,3,:a|\n1,2,:b|\n");
    expect_multi("1 a\n* b", 4, "1,:a|\n0,2,3,:b|\n");
    expect_multi("* a", 2, "0,1,:a|\n");
    expect_multi("0-1 a\n2-9 b\n10 c\n", 3, "0,1,:a|\n2,:b|\n");
    expect_multi("0-1 a 'x y' x\\ y a'b c'd ''\n", 2, "0,1,:a|x y|x y|ab cd||\n");
    expect_multi("0 a %t %o-%t %x\n", 1, "0,:a|%t|%o-%t||\n");
    expect_multi("0 a x\\\ny \\\n  z\n1 b", 2, "0,:a|xy|z|\n1,:b|\n");
    expect_multi(std::string_view("0 a\0b\n1 c", 9), 1, "0,:a|\n");
    expect_multi("# no \\\n0 line\n0 a\n", 1, "0,:a|\n");
    SrunPrograms programs;
    programs.multi_prog = true;
    programs.multi_prog_text = "0 a\n1 b\n";
    programs.parts = {{{"file", "x"}, {}}};
    expect_apps(apps_of_step(programs, 2, 0), "0,:a|x|\n1,:b|x|\n");
    assert_true(apps_of_step(programs, 3, 0).empty());
}

static void a_bad_multi_prog_file_is_refused(void **) {
    for (const char *text : {"", "\n", "#", "0\n", "x a", "0- a", "0-1-2 a", "1-0 a", "0,x a", "- a", "0 a 'x\n",
                             "1 a\n", "4294967296 a", "\\", "*"})
        assert_false(parse_multi_prog(text, 1, {}).ok());
    assert_false(parse_multi_prog("0-4294967295 a", 0, {}).ok());
    assert_true(parse_multi_prog("0-4294967295 a", 3, {}).ok());
}

static void programs_come_back(void **) {
    std::vector<App> apps = {{{"/bin/a b", "", "%t;,:*\n\xff"}, {0, 1, 2, 7}}, {{}, {3, 5}}, {{"c"}, {4, 6}}};
    auto text = encode_apps(apps);
    assert_true(text.ok());
    auto back = decode_apps(*text, 8);
    assert_true(back.ok());
    assert_string_equal(text_of(*back).c_str(), text_of(apps).c_str());
    assert_true(covers_each_rank(*back, 8));
    assert_false(covers_each_rank(*back, 9));
    assert_false(covers_each_rank(*back, 7));

    text = encode_apps({{{"a"}, {}}});
    assert_string_equal(text->c_str(), "*:a");
    assert_string_equal(encode_apps({App{}})->c_str(), "");
    assert_string_equal(encode_apps({})->c_str(), "");
    assert_false(encode_apps(std::vector<App>(max_apps + 1)).ok());
}

static void long_command_lines_are_left_out(void **) {
    std::vector<App> apps = {{{"a", std::string(max_app_text, 'x')}, {0}}, {{"b"}, {1}}};
    assert_string_equal(encode_apps(apps)->c_str(), "0;1");
    apps = {{Words(max_app_arguments + 1, ""), {0}}, {{"b"}, {1}}};
    assert_string_equal(encode_apps(apps)->c_str(), "0;1");
    apps[0].argv.resize(max_app_arguments - 1);
    assert_true(decode_apps(*encode_apps(apps), 2).ok());
}

static void hostile_programs_are_refused(void **) {
    for (const char *text :
         {"",      ";",     "0;",    ";0",     "*;0",   "0;*", "**",    "*x",           "x:a",           "0-:a",
          "-1:a",  "1-0:a", "0,0:a", "3,1:a",  "0-8:a", "8:a", "0-7;0", "0:a b",        "0:%",           "0:%4",
          "0:%4g", "0:%00", "0:%-1", "0:\xff", "0:a:b", "0,",  ",0",    "4294967296:a", "0-4294967295:a"})
        if (decode_apps(text, 8))
            fail_msg("taken: %s", text);
    assert_false(decode_apps("0:" + std::string(max_app_arguments, ','), 8).ok());
    assert_false(decode_apps(std::string(max_apps, ';'), 8).ok());
}

static void garbled_programs_harm_nothing(void **) {
    std::mt19937 random(5);
    std::string start = "0-3,6:/bin/a,-x,%20b;4:b;5,7:c";
    for (int round = 0; round < 20'000; ++round) {
        std::string text = start;
        for (unsigned n = 1 + random() % 4; n > 0; --n)
            text[random() % text.size()] = "0123456789,;:-*%aF "[random() % 19];
        if (auto apps = decode_apps(text, 1000))
            (void)covers_each_rank(*apps, 8);
    }
}

static void a_job_of_another_cluster_spawns_nothing(void **) {
    for (const char *here : {"", "main", "main:10.0.0.1:6817:9728"})
        assert_true(check_cluster(here, "main").ok());
    assert_true(check_cluster("far:10.0.0.2:6817:9728", "").ok());
    auto refused = check_cluster("far:10.0.0.2:6817:9728", "main");
    assert_false(refused.ok());
    assert_non_null(std::strstr(refused.failure().text.c_str(), "sbatch -M far"));
}

// The second component of a het step, of one task on each of two hosts.
static void a_component_is_described_by_the_leaders_job(void **) {
    char hosts[] = "n[3-4]";
    std::uint16_t tasks[] = {1, 1};
    std::uint32_t ranks[] = {0, 1}, *ids[] = {&ranks[0], &ranks[1]};
    slurm_step_layout_t layout{};
    layout.node_cnt = 2;
    layout.node_list = hosts;
    layout.tasks = tasks;
    layout.tids = ids;
    layout.task_dist = SLURM_DIST_CYCLIC;
    ClientInfo info{};
    info.het_job_id = 12;
    info.het_job_task_offset = 2;
    info.step_id.job_id = 13;
    info.step_id.step_id = 1;
    info.step_layout = &layout;
    LaunchContext context;
    context.component_jobs = {12, 13};
    context.process_sets = "pair=0-1";
    auto map = describe_step(info, context);
    assert_true(map.ok());
    assert_int_equal(map->job_id, 12);
    assert_int_equal(map->step_id, 1);
    assert_int_equal(map->first_rank, 2);
    assert_true(map->component_jobs == context.component_jobs);
    assert_string_equal(map->distribution.c_str(), "cyclic");
    assert_true(map->ranks_by_host == (std::vector<std::vector<Rank>>{{0}, {1}}));
    assert_int_equal(map->process_sets.size(), 1);

    info.het_job_id = NO_VAL;
    info.het_job_task_offset = NO_VAL;
    map = describe_step(info, context);
    assert_true(map.ok());
    assert_int_equal(map->job_id, 13);
    assert_int_equal(map->first_rank, 0);
    assert_true(map->component_jobs.empty());

    context.process_sets = "pair=1-2"; // it has no such rank
    map = describe_step(info, context);
    assert_false(map.ok());
    assert_true(map.failure().text.starts_with("PMIXHOST_PSETS: "));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_job_of_another_cluster_spawns_nothing),
        cmocka_unit_test(the_program_follows_the_options),
        cmocka_unit_test(what_is_not_understood_is_not_guessed),
        cmocka_unit_test(colons_divide_a_het_step),
        cmocka_unit_test(an_ordinary_step_is_one_program),
        cmocka_unit_test(a_launcher_without_a_program_has_none),
        cmocka_unit_test(each_component_is_a_program),
        cmocka_unit_test(a_component_is_described_by_the_leaders_job),
        cmocka_unit_test(a_multi_prog_file_is_read_as_slurm_does),
        cmocka_unit_test(a_bad_multi_prog_file_is_refused),
        cmocka_unit_test(programs_come_back),
        cmocka_unit_test(long_command_lines_are_left_out),
        cmocka_unit_test(hostile_programs_are_refused),
        cmocka_unit_test(garbled_programs_harm_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
