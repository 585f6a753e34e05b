// The file that a tool asks a launcher for (plugins/kit/launcher_file.h).
#include "plugins/kit/launcher_file.h"

#include "common/base/small_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::kit;

namespace {

struct Directory {
    std::string path = "/tmp/pmixhost-test.XXXXXX";
    Directory() { assert_non_null(mkdtemp(path.data())); }
    ~Directory() { std::filesystem::remove_all(path); }
    std::ptrdiff_t entries() const {
        return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
    }
};

void it_is_the_users_alone_and_goes(void **) {
    Directory directory;
    std::string path = directory.path + "/file";
    {
        auto file = LauncherFile::write(path, "text");
        assert_true(file.ok());
        assert_string_equal(read_small_file(path)->c_str(), "text");
        struct stat status {};
        assert_int_equal(stat(path.c_str(), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        assert_int_equal(directory.entries(), 1);
        LauncherFile moved = std::move(*file);
        assert_true(std::filesystem::exists(path));
    }
    assert_int_equal(directory.entries(), 0);
    // What another one has put there since stays.
    auto written = LauncherFile::write(path, "text");
    std::optional<LauncherFile> file(std::move(*written));
    std::filesystem::rename(path, path + ".old");
    std::ofstream(path) << "another";
    file.reset();
    assert_string_equal(read_small_file(path)->c_str(), "another");
}

void nothing_is_replaced(void **) {
    Directory directory;
    std::string path = directory.path + "/file";
    std::ofstream(path) << "before";
    assert_true(LauncherFile::write(path, "text").failure().kind == ErrorKind::exists);
    assert_string_equal(read_small_file(path)->c_str(), "before");
    assert_int_equal(symlink((directory.path + "/nowhere").c_str(), (directory.path + "/link").c_str()), 0);
    assert_true(LauncherFile::write(directory.path + "/link", "text").failure().kind == ErrorKind::exists);
    assert_int_equal(directory.entries(), 2);
}

void nobody_else_could_replace_it(void **) {
    Directory directory;
    std::string path = directory.path + "/file";
    assert_int_equal(chmod(directory.path.c_str(), 0777), 0);
    assert_true(LauncherFile::write(path, "text").failure().kind == ErrorKind::denied);
    assert_int_equal(chmod(directory.path.c_str(), 01777), 0);
    assert_true(LauncherFile::write(path, "text").ok());
    if (geteuid() == 0) {
        assert_int_equal(chmod(directory.path.c_str(), 0700), 0);
        assert_int_equal(chown(directory.path.c_str(), 4711, 4711), 0);
        assert_true(LauncherFile::write(path, "text").failure().kind == ErrorKind::denied);
    }
    assert_int_equal(directory.entries(), 0);
    for (const char *wrong : {"", "file", "./file", "/tmp/", "/"})
        assert_true(LauncherFile::write(wrong, "text").failure().kind == ErrorKind::invalid);
    assert_true(LauncherFile::write(directory.path + "/none/file", "text").failure().kind == ErrorKind::not_found);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_users_alone_and_goes),
        cmocka_unit_test(nothing_is_replaced),
        cmocka_unit_test(nobody_else_could_replace_it),
    };
    return cmocka_run_group_tests_name("launcher file", tests, nullptr, nullptr);
}
