// The count of closed connections, in a program with pmixhostd's close().
#include "server-glue/guard/closed_connections.h"
#include "server-glue/guard/descriptor_range.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

UniqueFd any() {
    return UniqueFd(::open("/", O_PATH | O_CLOEXEC));
}

void nothing_is_known_before_it_begins(void **) {
    assert_false(ClosedConnections::count().has_value());
}

void connections_of_the_library_count(void **) {
    auto range = DescriptorRange::of_process();
    ClosedConnections::begin(range.first());
    auto before = ClosedConnections::count();
    assert_true(before.has_value());
    auto moved = range.move_up(any());
    assert_true(moved.ok());
    assert_true(ClosedConnections::count() == before); // the lower number that it had does not count
    int number = moved->get();
    moved->reset();
    assert_true(ClosedConnections::count() == *before + 1);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    // libpmix closes some twice.
    assert_int_equal(close(number), -1);
    assert_int_equal(errno, EBADF);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_before_it_begins),
        cmocka_unit_test(connections_of_the_library_count),
    };
    return cmocka_run_group_tests_name("closed connections", tests, nullptr, nullptr);
}
