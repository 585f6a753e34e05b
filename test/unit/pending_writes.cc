// What an event base has yet to write, as libpmix' thread is asked at the end of a step.
#include "server-glue/library/pending_writes.h"

#include "common/base/unique_fd.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <sys/socket.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void nothing(evutil_socket_t, short, void *) {}

// With a lock, as libpmix' base has: who asks from within must not take it twice.
struct Fixture {
    event_base *base = nullptr;
    UniqueFd ends[2];
    event *reads = nullptr, *writes = nullptr, *shifted = nullptr;
    Fixture() {
        assert_int_equal(evthread_use_pthreads(), 0);
        base = event_base_new();
        assert_non_null(base);
        int both[2];
        assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both), 0);
        ends[0].reset(both[0]);
        ends[1].reset(both[1]);
        reads = event_new(base, both[0], EV_READ | EV_PERSIST, nothing, nullptr);
        writes = event_new(base, both[0], EV_WRITE | EV_PERSIST, nothing, nullptr);
        shifted = event_new(base, -1, EV_WRITE, nothing, nullptr);
    }
    ~Fixture() {
        for (event *each : {reads, writes, shifted})
            event_free(each);
        event_base_free(base);
    }
};

void what_is_queued_for_a_connection_is_pending(void **) {
    Fixture f;
    event_add(f.reads, nullptr);
    assert_false(has_pending_writes(f.base));
    event_add(f.writes, nullptr);
    assert_true(has_pending_writes(f.base));
    event_base_loop(f.base, EVLOOP_ONCE); // it is persistent, as libpmix' is, which deletes it behind the last message
    assert_true(has_pending_writes(f.base));
    event_del(f.writes);
    assert_false(has_pending_writes(f.base));
}

// That is how libpmix hands something to its thread.
void what_is_of_no_connection_is_not(void **) {
    Fixture f;
    event_active(f.shifted, EV_WRITE, 1);
    assert_false(has_pending_writes(f.base));
    event_base_loop(f.base, EVLOOP_ONCE);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_queued_for_a_connection_is_pending),
        cmocka_unit_test(what_is_of_no_connection_is_not),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
