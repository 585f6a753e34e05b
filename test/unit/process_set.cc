// Process sets: their text, the sets of programs, and who knows of them.
#include "common/job/process_set.h"
#include "server-glue/cross_job/cross_job_registry.h"
#include "server-glue/sets/process_sets.h"

#include <cstring>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void sets_are_read_and_written(void **) {
    auto sets = parse_process_sets(" ocean = 2, 0-1 ;atmo=3-4,6; all=*;", 7);
    assert_true(sets.ok());
    assert_int_equal(sets->size(), 3);
    assert_true((*sets)[0] == (ProcessSet{"ocean", {0, 1, 2}}));
    assert_true((*sets)[1] == (ProcessSet{"atmo", {3, 4, 6}}));
    assert_true((*sets)[2] == (ProcessSet{"all", {0, 1, 2, 3, 4, 5, 6}}));
    std::string text = format_process_sets(*sets);
    assert_string_equal(text.c_str(), "ocean=0-2;atmo=3-4,6;all=0-6");
    auto again = parse_process_sets(text, 7);
    assert_true(again.ok() && *again == *sets);
    assert_true(parse_process_sets("", 7)->empty());
    assert_true(format_process_sets({}).empty());
    assert_true(parse_process_sets("mpi://OCEAN=0-1,0-1", 2).ok());
}

void a_bad_set_is_refused_with_its_name(void **) {
    for (const char *text :
         {"ocean", "ocean=", "ocean=,", "ocean=0-", "ocean=-1", "ocean=1-0", "ocean=7", "ocean=0-4294967296", "ocean=x",
          "ocean=0 1", "ocean=0;ocean=1", "ocean=0;oc ean=1", "ocean=0=1"}) {
        auto sets = parse_process_sets(text, 7);
        assert_false(sets.ok());
        assert_non_null(strstr(sets.failure().text.c_str(), "oc"));
    }
    for (const char *text : {"=0", "a,b=0", "a\tb=0", "a\x7f=0"})
        assert_false(parse_process_sets(text, 7).ok());
    assert_false(parse_process_sets(std::string(max_process_set_name + 1, 'a') + "=0", 7).ok());
    assert_true(parse_process_sets(std::string(max_process_set_name, 'a') + "=0", 7).ok());
    std::string many;
    for (std::size_t i = 0; i <= max_process_sets; ++i)
        many += fmt::format("s{}=0;", i);
    auto sets = parse_process_sets(many, 1);
    assert_true(!sets.ok() && sets.failure().kind == ErrorKind::limit);
}

void each_program_of_several_is_a_set(void **) {
    std::vector<ProcessSet> sets{{"mine", {4}}, {"taken", {0}}};
    add_program_sets(sets, {{{"/usr/bin/ocean", "-x"}, {0, 1}},
                            {{"./same"}, {2}},
                            {{"same", "y"}, {3}},
                            {{"named"}, {4}},
                            {{"taken"}, {5}},
                            {{"a b"}, {6}},
                            {{}, {7}},
                            {{"nobody"}, {}}});
    assert_string_equal(format_process_sets(sets).c_str(),
                        "mine=4;taken=0;ocean=0-1;same.1=2;same.2=3;app.5=6;app.6=7");
    sets.clear();
    add_program_sets(sets, {{{"alone"}, {}}});
    assert_true(sets.empty());
}

struct Fake : ProcessSetPort {
    std::string said;
    void define_set(const std::string &name, const Bytes &nspace, const std::vector<Rank> &ranks) override {
        said += fmt::format("+{}@{}:{} ", name, nspace, ranks.size());
    }
    void delete_set(const std::string &name) override { said += "-" + name + " "; }
    void name_taken(const std::string &name, const Bytes &nspace) override {
        said += fmt::format("!{}@{} ", name, nspace);
    }
};

void sets_of_others_are_known_while_connected(void **) {
    Fake port;
    ProcessSets sets(port);
    sets.define("one", {{"a", {0, 1}}, {"b", {1}}});
    sets.connected("two", {{"c", {0}}, {"a", {5}}, {"d", {1}}});
    sets.connected("two", {{"c", {0}}});
    assert_string_equal(port.said.c_str(), "+a@one:2 +b@one:1 +c@two:1 !a@two +d@two:1 ");
    assert_int_equal(sets.all().size(), 4);
    assert_true(sets.find("d") && sets.find("d")->nspace == "two");
    assert_true(sets.find("a") && sets.find("a")->nspace == "one");
    port.said.clear();
    sets.disconnected("two");
    assert_string_equal(port.said.c_str(), "");
    sets.disconnected("two");
    assert_string_equal(port.said.c_str(), "-c -d ");
    assert_int_equal(sets.all().size(), 2);
    assert_null(sets.find("c"));
    port.said.clear();
    sets.disconnected("two"); // nothing to disconnect from
    sets.disconnected("one");
    assert_string_equal(port.said.c_str(), "");
}

void another_job_tells_its_sets(void **) {
    StepInfo step;
    step.nspace = "other";
    step.map = std::move(*JobMap::create({"h0", "h1"}, {{0, 1}, {2}}));
    step.process_sets = {{"a", {0, 2}}};
    auto info = describe(step);
    assert_true(sets_of(info) == step.process_sets);
    info.process_sets = "a=3";
    assert_true(sets_of(info).empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_read_and_written),        cmocka_unit_test(a_bad_set_is_refused_with_its_name),
        cmocka_unit_test(each_program_of_several_is_a_set), cmocka_unit_test(sets_of_others_are_known_while_connected),
        cmocka_unit_test(another_job_tells_its_sets),
    };
    return cmocka_run_group_tests_name("process sets", tests, nullptr, nullptr);
}
