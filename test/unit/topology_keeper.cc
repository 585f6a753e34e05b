// Who is started to look for the topology, and when. A shell script stands in for pmixhost-topology.
#include "plugins/kit/topology_keeper.h"

#include "common/process/topology_file.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
namespace fs = std::filesystem;

namespace {

struct Place {
    std::string path = "/tmp/pmixhost-keeper.XXXXXX";
    std::string program, file, seen;
    int contained = 0;
    Place() {
        assert_non_null(::mkdtemp(path.data()));
        program = path + "/program", file = path + "/topology", seen = path + "/seen";
        std::ofstream(program) << "#!/bin/sh\necho \"$(id -u) $1 $(env | grep -vc ^PWD=)\" >" << path << "/new\nmv "
                               << path << "/new " << seen << "\n";
        assert_int_equal(::chmod(program.c_str(), 0755), 0);
    }
    ~Place() { fs::remove_all(path); }
    Result<void> keep(bool contain = true) {
        return kit::keep_topology(file, program, [this, contain](pid_t) {
            ++contained;
            return contain;
        });
    }
    std::string said() const {
        for (int i = 0; i < 1000 && ::access(seen.c_str(), F_OK) != 0; ++i)
            ::usleep(10'000);
        std::string line;
        std::ifstream in(seen);
        std::getline(in, line);
        return line;
    }
};

void it_is_looked_for_when_there_is_none(void **) {
    Place place;
    if (::geteuid() != 0) {
        assert_true(place.keep().ok());
        assert_int_equal(place.contained, 0);
        skip();
    }
    assert_true(place.keep().ok());
    assert_int_equal(place.contained, 1);
    assert_string_equal(place.said().c_str(), ("0 " + place.file + " 1").c_str()); // PATH
}

void what_is_right_starts_nothing(void **) {
    Place place;
    auto writer = TopologyFileWriter::begin(place.file);
    assert_true(writer.ok());
    assert_true(writer->finish(machine_state(), "<topology/>").ok());
    assert_true(place.keep().ok());
    assert_int_equal(place.contained, 0);
}

void only_what_is_roots_is_executed(void **) {
    if (::geteuid() != 0)
        skip();
    Place place;
    auto is_denied = [&] {
        auto kept = place.keep();
        return !kept && kept.failure().kind == ErrorKind::denied && place.contained == 0;
    };
    assert_int_equal(::chown(place.program.c_str(), 1234, 0), 0);
    assert_true(is_denied());
    assert_int_equal(::chown(place.program.c_str(), 0, 0), 0);
    assert_int_equal(::chmod(place.program.c_str(), 0775), 0);
    assert_true(is_denied());
    assert_int_equal(::chmod(place.program.c_str(), 0755), 0);
    assert_int_equal(::chmod(place.path.c_str(), 0777), 0);
    assert_true(is_denied());
    assert_int_equal(::chmod(place.path.c_str(), 0755), 0);
    assert_int_equal(::chown(place.path.c_str(), 1234, 0), 0);
    assert_true(is_denied());
    assert_int_equal(::chown(place.path.c_str(), 0, 0), 0);
    fs::rename(place.program, place.program + ".gone");
    assert_true(is_denied());
}

void who_cannot_be_contained_does_not_run(void **) {
    if (::geteuid() != 0)
        skip();
    Place place;
    assert_false(place.keep(false).ok());
    assert_int_equal(place.contained, 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_is_looked_for_when_there_is_none),
        cmocka_unit_test(what_is_right_starts_nothing),
        cmocka_unit_test(only_what_is_roots_is_executed),
        cmocka_unit_test(who_cannot_be_contained_does_not_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
