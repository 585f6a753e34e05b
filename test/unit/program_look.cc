// Which programs look as if they would use PMIx.
#include "common/process/program_look.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

// As in a table of names, in which each ends with a NUL.
std::string names(std::initializer_list<const char *> all) {
    std::string out(1, '\0');
    for (const char *name : all)
        out += std::string(name) + '\0';
    return out;
}
const std::string elf = "\x7f"
                        "ELF" +
                        names({"libc.so.6"});

struct Files {
    std::string directory;
    Files() {
        char name[] = "/tmp/pmixhost-programs.XXXXXX";
        directory = mkdtemp(name);
    }
    ~Files() { std::filesystem::remove_all(directory); }
    std::string make(const std::string &name, const std::string &text) const {
        std::ofstream(directory + "/" + name) << text;
        return directory + "/" + name;
    }
    PmixUse look(const std::string &text) const { return look_at_programs(std::vector{make("one", text)}); }
};

void libraries_and_scripts_are_recognised(void **) {
    Files files;
    for (const char *text : {"libpmix.so.2", "libmpi.so.40", "libmpi_mpifh.so.40", "liboshmem.so.40"})
        assert_true(files.look(elf + text) == PmixUse::is_expected);
    assert_true(files.look("#!/usr/bin/python3\nfrom mpi4py import MPI\n") == PmixUse::is_expected);
    assert_true(files.look("#!/bin/sh\nexec hostname\n") == PmixUse::may_come);
}

void what_can_neither_load_nor_execute_has_nothing_to_do_with_it(void **) {
    Files files;
    assert_true(files.look(elf + "printf") == PmixUse::cannot);
    assert_true(files.look(elf + "an exec system call") == PmixUse::cannot);
    for (const char *way : {"dlopen", "dlmopen", "execvp", "execle", "fexecve", "posix_spawnp", "system", "popen"})
        assert_true(files.look(elf + names({way})) == PmixUse::may_come);
    assert_true(files.look("\x7f"
                           "ELF..statically") == PmixUse::may_come);
    // Those of this system.
    assert_true(look_at_programs(std::vector<std::string>{"/bin/true"}) == PmixUse::cannot);
    assert_true(look_at_programs(std::vector<std::string>{"/bin/sh"}) == PmixUse::may_come);
}

void other_libraries_may_do_it(void **) {
    Files files;
    assert_true(files.look(elf + names({"libm.so.6", "libstdc++.so.6", "libgomp.so.1"})) == PmixUse::cannot);
    for (const char *library : {"libpython3.11.so.1.0", "libPstream.so", "libcurl.so.4", "libc++.so.1"})
        assert_true(files.look(elf + names({"libm.so.6", library})) == PmixUse::may_come);
    // It names no libc.
    assert_true(files.look("\x7f"
                           "ELF" +
                           names({"libm.so.6"})) == PmixUse::may_come);
}

void of_several_the_most_counts(void **) {
    Files files;
    auto none = files.make("none", elf), script = files.make("script", "#!"), user = files.make("user", "libmpi");
    assert_true(look_at_programs(std::vector<std::string>{none, script, none}) == PmixUse::may_come);
    assert_true(look_at_programs(std::vector<std::string>{none, user, script}) == PmixUse::is_expected);
    assert_true(look_at_programs(std::vector<std::string>{none, none}) == PmixUse::cannot);
    assert_true(look_at_programs(std::vector<std::string>{none, ""}) == PmixUse::may_come);
}

void looking_is_bounded(void **) {
    Files files;
    const std::size_t most = 1 << 20;
    assert_true(files.look(std::string(most - 10, '.') + "libpmix.so") == PmixUse::is_expected);
    assert_true(files.look(std::string(most, '.') + "libpmix.so") == PmixUse::may_come);
    // What is behind may be anything.
    assert_true(files.look(elf + std::string(most - elf.size(), '.')) == PmixUse::cannot);
    assert_true(files.look(elf + std::string(most - elf.size() + 1, '.')) == PmixUse::may_come);
    std::vector<std::string> programs(16, files.make("none", elf));
    assert_true(look_at_programs(programs) == PmixUse::cannot);
    programs.push_back(programs.front());
    assert_true(look_at_programs(programs) == PmixUse::may_come);
}

void what_is_no_file_is_not_waited_for(void **) {
    Files files;
    std::string fifo = files.directory + "/fifo";
    assert_int_equal(mkfifo(fifo.c_str(), 0600), 0);
    for (const std::string &program : {fifo, files.directory, std::string("/nowhere/at/all"), std::string("/dev/zero")})
        assert_true(look_at_programs(std::vector<std::string>{program}) == PmixUse::may_come);
}

void programs_are_looked_for_as_they_are_executed(void **) {
    Files files;
    mkdir((files.directory + "/a").c_str(), 0700);
    mkdir((files.directory + "/b").c_str(), 0700);
    mkdir((files.directory + "/a/run").c_str(), 0700); // a directory is not executed
    auto other = files.make("a/other", "");            // nor what is not executable
    auto run = files.make("b/run", ""), also = files.make("b/other", "");
    chmod(run.c_str(), 0755);
    chmod(also.c_str(), 0755);
    chmod(other.c_str(), 0644);
    const std::string path = files.directory + "/a:" + files.directory + "/b";
    assert_string_equal(program_path("run", path, "/").c_str(), run.c_str());
    assert_string_equal(program_path("other", path, "/").c_str(), also.c_str());
    assert_string_equal(program_path("run", ":/nowhere", files.directory + "/b").c_str(),
                        (files.directory + "/b//run").c_str());
    assert_string_equal(program_path("run", "b", files.directory).c_str(), run.c_str());
    assert_string_equal(program_path("none", path, "/").c_str(), "");
    assert_string_equal(program_path("", path, "/").c_str(), "");
    assert_string_equal(program_path("/any/where", path, "/").c_str(), "/any/where");
    assert_string_equal(program_path("./b/run", "", files.directory).c_str(), (files.directory + "/./b/run").c_str());
}

void a_step_is_what_its_programs_are(void **) {
    Files files;
    auto plain = files.make("plain", elf), user = files.make("user", "libmpi");
    auto apps = [](std::vector<std::string> names) {
        std::vector<App> out;
        for (auto &name : names)
            out.push_back({name.empty() ? std::vector<std::string>() : std::vector<std::string>{name, "/bin/sh"}, {}});
        return out;
    };
    auto look = [&](std::vector<std::string> names) {
        return look_at_programs(apps(names), "/nowhere", files.directory);
    };
    assert_true(look({plain, "./plain"}) == PmixUse::cannot);
    assert_true(look({plain, "./user"}) == PmixUse::is_expected);
    assert_true(look({plain, "plain"}) == PmixUse::may_come); // not in PATH
    assert_true(look({""}) == PmixUse::may_come);
    assert_true(look({}) == PmixUse::may_come);
}

void there_is_a_word_for_each(void **) {
    for (auto use : {PmixUse::cannot, PmixUse::may_come, PmixUse::is_expected})
        assert_true(pmix_use_of(to_word(use)) == use);
    assert_true(pmix_use_of("") == PmixUse::may_come);
    assert_true(pmix_use_of("cannot ") == PmixUse::may_come);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(libraries_and_scripts_are_recognised),
        cmocka_unit_test(what_can_neither_load_nor_execute_has_nothing_to_do_with_it),
        cmocka_unit_test(other_libraries_may_do_it),
        cmocka_unit_test(of_several_the_most_counts),
        cmocka_unit_test(looking_is_bounded),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
        cmocka_unit_test(programs_are_looked_for_as_they_are_executed),
        cmocka_unit_test(a_step_is_what_its_programs_are),
        cmocka_unit_test(there_is_a_word_for_each),
    };
    return cmocka_run_group_tests_name("program_look", tests, nullptr, nullptr);
}
