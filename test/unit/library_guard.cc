// The PMIx library is not started where the guard before it is not in force. This program does not have
// the interposition that pmixhostd has, so that the real library listens by itself.
#include "server-glue/guard/closed_connections.h"
#include "server-glue/guard/listener_takeover.h"
#include "server-glue/library/pmix_library.h"

#include <cstdlib>
#include <filesystem>
#include <sys/socket.h>

#include "test/unit/check.h"

using namespace pmixhost;

// What the library itself forgets between its start and its end is not looked for here.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions();
const char *__lsan_default_suppressions() {
    return "leak:libpmix\n";
}

namespace {

void a_library_that_listens_beside_the_guard_is_refused(void **) {
#ifdef PMIXHOST_SANITIZES_THREADS // libpmix' own threads race when it ends
    return;
#endif
    char directory[] = "/tmp/pmixhost-guard.XXXXXX";
    assert_non_null(mkdtemp(directory));
    auto loop = EventLoop::create([](const std::string &) { std::abort(); });
    assert_true(loop.ok());
    pmix_server_module_t module{};
    auto thread = LibraryThread::start([](const std::string &) { std::abort(); });
    assert_true(thread.ok());
    auto library = PmixLibrary::start(**loop, **thread, {"test.server", 0, directory, "localhost"}, &module, nullptr);
    assert_true((*thread)->end(std::chrono::seconds(30)));
    std::filesystem::remove_all(directory);
    assert_false(library.ok());
    assert_non_null(strstr(library.failure().text.c_str(), "the guard before the PMIx library is not in force"));
    assert_non_null(strstr(library.failure().text.c_str(), "OpenPMIx"));
    // And it no longer listens.
    for (int fd = 0; fd < 256; ++fd) {
        int listens = 0;
        socklen_t size = sizeof listens;
        int family = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0)
            assert_true(family != AF_INET && family != AF_INET6);
    }
}

// Nor do libraries come to a close() of ours, so it is not known whether a connection was closed.
void closed_connections_are_not_counted(void **) {
    ClosedConnections::begin(100);
    assert_false(ClosedConnections::count().has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_listens_beside_the_guard_is_refused),
        cmocka_unit_test(closed_connections_are_not_counted),
    };
    return cmocka_run_group_tests_name("library_guard", tests, nullptr, nullptr);
}
