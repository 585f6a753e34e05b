// Where libpmix' store is: in memory, unless that cannot be; and how large its index.
#include "server-glue/daemon/store_directory.h"

#include "common/start/status_page.h"
#include "server-glue/library/library_start.h"
#include "server-glue/library/library_version.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

bool has_room() {
    struct statfs found {};
    return ::statfs("/dev/shm", &found) == 0 && found.f_type == TMPFS_MAGIC &&
           found.f_bavail * static_cast<std::uint64_t>(found.f_bsize) >= StoreDirectory::least_room;
}

void it_has_the_name_of_the_private_directory(void **) {
    if (!has_room() || library_version().major >= 5)
        skip();
    auto beside = PrivateDirectory::create_in("/tmp");
    assert_true(beside.ok());
    std::string path = "/dev/shm" + beside->path().substr(4);
    {
        auto store = StoreDirectory::create(Settings(), *beside);
        assert_true(store.has_value());
        assert_string_equal(store->path().c_str(), (beside->path() + "/store").c_str());
        assert_true(std::filesystem::read_symlink(store->path()) == path);
        struct stat status {};
        assert_int_equal(::stat(path.c_str(), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0700);
        assert_false(StoreDirectory::create(Settings(), *beside).has_value()); // the name is taken
        assert_int_equal(::access(path.c_str(), F_OK), 0);
        std::ofstream(store->path() + "/segment") << "x";
    }
    assert_int_equal(::access(path.c_str(), F_OK), -1);
    assert_true(beside->remove());
}

void where_there_can_be_no_link_there_is_none(void **) {
    if (!has_room() || library_version().major >= 5)
        skip();
    auto beside = PrivateDirectory::create_in("/tmp");
    std::string path = "/dev/shm" + beside->path().substr(4);
    std::ofstream(beside->path() + "/store") << "x";
    assert_false(StoreDirectory::create(Settings(), *beside).has_value());
    assert_int_equal(::access(path.c_str(), F_OK), -1);
}

void there_must_be_room_for_segments(void **) {
    auto beside = PrivateDirectory::create_in("/tmp");
    Settings settings;
    settings.modex_segment_bytes = std::uint64_t{1} << 50;
    assert_false(StoreDirectory::create(settings, *beside).has_value());
}

void there_is_none_where_the_site_does_not_want_it(void **) {
    auto beside = PrivateDirectory::create_in("/tmp");
    Settings settings;
    settings.directory_store = "base";
    assert_false(StoreDirectory::create(settings, *beside).has_value());
}

// Or the library would make a second segment, and clients that take it for as large as by default look into the first.
void the_index_has_room_for_all_ranks(void **) {
    assert_int_equal(store_index_bytes(1), 65536);
    for (Rank ranks : {1u, 2'729u, 2'730u, 2'731u, 100'000u}) {
        std::size_t bytes = store_index_bytes(ranks);
        assert_int_equal(bytes % 4096, 0);
        assert_true((bytes - sizeof(std::size_t)) / 24 > ranks); // and the job's own
    }
    assert_int_equal(store_index_bytes(1'280'000), 4u << 20); // as many segments as by default
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_name_of_the_private_directory),
        cmocka_unit_test(where_there_can_be_no_link_there_is_none),
        cmocka_unit_test(there_must_be_room_for_segments),
        cmocka_unit_test(there_is_none_where_the_site_does_not_want_it),
        cmocka_unit_test(the_index_has_room_for_all_ranks),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
