// How this program deals with libevent. The guard that takes pending timers back looks at none of the program's own
// timers, wherever they were made; and its event bases have locks, because libpmix' threads come to libevent too.
#include "common/loop/event_loop.h"
#include "server-glue/guard/assigned_base.h"

#include <dlfcn.h>
#include <event2/event.h>
#include <event2/thread.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

// Between libevent and whoever calls it: how often a base is walked, and in which order a program begins.
static int walks = 0;
static bool threads_are_known = false, base_without_lock = false;
extern "C" {
__attribute__((visibility("default"))) int event_base_foreach_event(event_base *base, event_base_foreach_event_cb each,
                                                                    void *data) {
    ++walks;
    using Walk = int (*)(event_base *, event_base_foreach_event_cb, void *);
    return reinterpret_cast<Walk>(dlsym(RTLD_NEXT, "event_base_foreach_event"))(base, each, data);
}
__attribute__((visibility("default"))) event_base *event_base_new() {
    base_without_lock = base_without_lock || !threads_are_known;
    using New = event_base *(*)();
    return reinterpret_cast<New>(dlsym(RTLD_NEXT, "event_base_new"))();
}
// What evthread_use_pthreads() does.
__attribute__((visibility("default"))) int evthread_set_lock_callbacks(const evthread_lock_callbacks *locks) {
    threads_are_known = threads_are_known || locks;
    using Set = int (*)(const evthread_lock_callbacks *);
    return reinterpret_cast<Set>(dlsym(RTLD_NEXT, "evthread_set_lock_callbacks"))(locks);
}
}

namespace {

std::unique_ptr<EventLoop> make_loop() {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    return std::move(*made);
}

void event_bases_have_locks(void **) {
    auto loop = make_loop();
    assert_true(threads_are_known);
    assert_false(base_without_lock);
}

void own_timers_are_not_looked_for(void **) {
    auto loop = make_loop();
    walks = 0;
    auto timer = loop->after(0ms, [&] { loop->stop(); });
    assert_true(loop->run().ok());
    assert_int_equal(walks, 0);
}

// A backend is a module with a copy of the event loop of its own.
void nor_are_those_of_a_module(void **) {
    void *module = dlopen("test/unit/.libs/timer_module.so", RTLD_NOW | RTLD_LOCAL);
    if (!module)
        fail_msg("%s", dlerror());
    auto run_timers = reinterpret_cast<int (*)(EventLoop *, int)>(dlsym(module, "run_timers"));
    assert_non_null(reinterpret_cast<void *>(run_timers));
    auto loop = make_loop();
    walks = 0;
    assert_int_equal(run_timers(loop.get(), 10), 10);
    assert_int_equal(walks, 0);
}

// What libpmix 4.2.2 does: the second setting is one of a pending timer.
void a_pending_timer_is_taken_back(void **) {
    event_base *base = event_base_new();
    int fired = 0;
    auto callback = [](evutil_socket_t, short, void *data) { ++*static_cast<int *>(data); };
    alignas(16) static char memory[1024];
    assert_true(event_get_struct_event_size() <= sizeof memory);
    auto *twice = reinterpret_cast<event *>(memory);
    timeval soon{0, 1000}, later{0, 2000};
    walks = 0;
    for (int i = 0; i < 2; ++i) {
        event_assign(twice, base, -1, 0, callback, &fired);
        event_add(twice, &soon);
    }
    assert_int_equal(walks, 2);
    event *other = event_new(base, -1, 0, callback, &fired);
    event_add(other, &later);
    assert_int_equal(walks, 2);
    event_base_loop(base, 0); // without the guard: for ever, or into freed memory
    assert_int_equal(fired, 2);
    event_free(other);
    event_base_free(base);
}

// Who asks learns for which base this thread has an event assigned, as libpmix does where it shifts something.
void the_base_of_an_event_is_told_to_who_asks(void **) {
    event_base *base = event_base_new(), *other = event_base_new();
    alignas(16) static char memory[1024];
    auto assign = [](event_base *to) {
        event_assign(
            reinterpret_cast<event *>(memory), to, -1, EV_WRITE, [](evutil_socket_t, short, void *) {}, nullptr);
    };
    {
        AssignedBase::Scope scope;
        assert_null(scope.base());
        assign(base);
        assert_ptr_equal(scope.base(), base);
    }
    assign(other);
    AssignedBase::Scope scope;
    assert_null(scope.base());
    event_base_free(base);
    event_base_free(other);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(event_bases_have_locks),
        cmocka_unit_test(own_timers_are_not_looked_for),
        cmocka_unit_test(nor_are_those_of_a_module),
        cmocka_unit_test(a_pending_timer_is_taken_back),
        cmocka_unit_test(the_base_of_an_event_is_told_to_who_asks),
    };
    return cmocka_run_group_tests_name("timer guard", tests, nullptr, nullptr);
}
