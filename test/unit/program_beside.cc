// Where a program finds those that were installed with it, also when another one has taken its place since it started.
#include "common/process/program_beside.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

// As a package manager does it.
int upgrade_and_say(const char *self) {
    std::string newer = std::string(self) + ".new";
    std::ofstream(newer) << "newer";
    std::filesystem::rename(newer, self);
    std::cout << std::filesystem::read_symlink("/proc/self/exe").string() << '\n'
              << program_beside("pmixhostd") << '\n';
    return 0;
}

void it_is_beside_this_one(void **) {
    auto self = std::filesystem::read_symlink("/proc/self/exe");
    assert_string_equal(program_beside(self.filename()).c_str(), self.c_str());
}

void an_upgrade_does_not_hide_it(void **) {
    char name[] = "/tmp/pmixhost-beside.XXXXXX";
    std::filesystem::path directory = mkdtemp(name), program = directory / "pmixhostd";
    std::filesystem::copy_file("/proc/self/exe", program);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    FILE *said = ::popen((program.string() + " --upgrade").c_str(), "r");
    assert_non_null(said);
    char line[2][512] = {};
    for (auto &each : line)
        assert_non_null(std::fgets(each, sizeof each, said));
    assert_int_equal(::pclose(said), 0);
    assert_non_null(std::strstr(line[0], "(deleted)")); // it is one
    assert_string_equal(line[1], (program.string() + "\n").c_str());
    std::filesystem::remove_all(directory);
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 2 && std::strcmp(argv[1], "--upgrade") == 0)
        return upgrade_and_say(argv[0]);
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_is_beside_this_one),
        cmocka_unit_test(an_upgrade_does_not_hide_it),
    };
    return cmocka_run_group_tests_name("programs beside this one", tests, nullptr, nullptr);
}
