// Calls that block: in order, with deadlines that they do not have, so many and no more, and left
// behind when their owner goes.
#include "common/loop/slow_calls.h"

#include <atomic>
#include <optional>
#include <thread>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    std::optional<SlowCalls> calls;
    std::vector<std::string> said;

    explicit World(std::size_t max_waiting = 8, SlowCalls::Threads threads = {1, 0}) {
        calls.emplace(*loop, max_waiting, threads);
    }
    auto hear(std::string who, std::size_t until) {
        return [this, who, until](Result<int> value) {
            said.push_back(who + (value                                        ? std::to_string(*value)
                                  : value.failure().kind == ErrorKind::timeout ? " late"
                                  : value.failure().kind == ErrorKind::limit   ? " refused"
                                                                               : " failed"));
            if (said.size() == until)
                loop->stop();
        };
    }
};

// Blocks until it is let go, however often it is asked.
struct Gate {
    std::shared_ptr<OneTimeGate> open = std::make_shared<OneTimeGate>();
    auto call(int value) {
        return [open = open, value]() -> Result<int> {
            open->wait();
            return value;
        };
    }
};

auto at_once(int value) {
    return [value]() -> Result<int> { return value; };
}

void calls_run_in_order(void **) {
    World world;
    for (int i = 0; i < 5; ++i)
        world.calls->run({}, TimePoint::max(), at_once(i), world.hear("a", 5));
    assert_true(world.said.empty()); // never from within
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"a0", "a1", "a2", "a3", "a4"}));
}

void failures_come_back(void **) {
    World world;
    world.calls->run(
        {}, TimePoint::max(), []() -> Result<int> { return error(ErrorKind::denied, "no"); }, world.hear("a", 1));
    assert_true(world.loop->run().ok());
    assert_string_equal(world.said[0].c_str(), "a failed");
}

void callers_do_not_wait_longer_than_they_want(void **) {
    World world;
    Gate gate;
    auto soon = world.loop->now() + 10ms;
    world.calls->run({}, soon, gate.call(1), world.hear("runs", 2));
    bool begun = false;
    world.calls->run(
        {}, soon, [&begun]() -> Result<int> { return begun = true; }, world.hear("waits", 2));
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"runs late", "waits late"}));
    // The one that waited in vain is never begun, and the thread goes on with the next.
    world.calls->run({}, TimePoint::max(), at_once(3), world.hear("next", 3));
    gate.open->open();
    assert_true(world.loop->run().ok());
    assert_string_equal(world.said.back().c_str(), "next3");
    assert_false(begun);
}

void only_so_many_may_wait(void **) {
    World world(2);
    Gate gate;
    for (int i = 0; i < 4; ++i)
        world.calls->run({}, TimePoint::max(), gate.call(i), world.hear("a", i < 3 ? 4 : 1));
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"a refused"}));
    gate.open->open();
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"a refused", "a0", "a1", "a2"}));
}

void the_same_question_is_asked_once(void **) {
    World world;
    Gate gate;
    std::atomic<int> asked = 0;
    auto ask = [&asked]() -> Result<int> { return ++asked; };
    world.calls->run("other", TimePoint::max(), gate.call(0), world.hear("other", 4));
    for (int i = 0; i < 3; ++i)
        world.calls->run("same", TimePoint::max(), ask, world.hear("same", 4));
    gate.open->open();
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"other0", "same1", "same1", "same1"}));
    // What has been answered is asked anew.
    world.calls->run("same", TimePoint::max(), ask, world.hear("same", 5));
    assert_true(world.loop->run().ok());
    assert_string_equal(world.said.back().c_str(), "same2");
}

// One that shares a question may wait longer than the first.
void each_has_a_deadline_of_its_own(void **) {
    World world;
    Gate gate;
    world.calls->run({}, TimePoint::max(), gate.call(0), world.hear("first", 3));
    world.calls->run("same", world.loop->now() + 10ms, at_once(1), [&](Result<int> value) {
        world.hear("hurried", 3)(std::move(value));
        gate.open->open();
    });
    world.calls->run("same", TimePoint::max(), at_once(1), world.hear("patient", 3));
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"hurried late", "first0", "patient1"}));
}

void a_stuck_call_stops_no_other_thread(void **) {
    World world(8, {2, 0});
    Gate gate;
    world.calls->run({}, TimePoint::max(), gate.call(0), world.hear("stuck", 4));
    for (int i = 1; i <= 3; ++i)
        world.calls->run({}, TimePoint::max(), at_once(i), [&, i](Result<int> value) {
            world.hear("a", 4)(std::move(value));
            if (i == 3)
                gate.open->open();
        });
    assert_true(world.loop->run().ok());
    assert_true((world.said == std::vector<std::string>{"a1", "a2", "a3", "stuck0"}));
}

void threads_that_are_stuck_are_left_behind(void **) {
    World world(8, {2, 3});
    Gate gate;
    // Four calls: two threads, and the two that take their places.
    for (int i = 0; i < 4; ++i) {
        world.calls->run({}, world.loop->now() + 10ms, gate.call(i), world.hear("stuck", i % 2 ? i + 1 : 9));
        if (i % 2)
            assert_true(world.loop->run().ok());
    }
    world.calls->run({}, world.loop->now() + 10s, at_once(4), world.hear("next", 5));
    assert_true(world.loop->run().ok());
    assert_string_equal(world.said.back().c_str(), "next4");
    // No fourth one may be left behind: what waits then has its time and no more.
    world.calls->run({}, world.loop->now() + 10ms, gate.call(5), world.hear("stuck", 6));
    assert_true(world.loop->run().ok());
    world.calls->run({}, world.loop->now() + 10ms, gate.call(6), world.hear("stuck", 7));
    assert_true(world.loop->run().ok());
    world.calls->run({}, world.loop->now() + 10ms, at_once(7), world.hear("refused", 8));
    assert_true(world.loop->run().ok());
    assert_string_equal(world.said.back().c_str(), "refused late");
    gate.open->open();
    world.calls->run({}, world.loop->now() + 10s, at_once(8), world.hear("free", 9));
    assert_true(world.loop->run().ok());
    assert_string_equal(world.said.back().c_str(), "free8");
}

void who_leaves_does_not_wait(void **) {
    Gate gate;
    OneTimeGate begun;
    auto ended = std::make_shared<OneTimeGate>();
    {
        World world;
        auto call = [&begun, open = gate.open, ended]() -> Result<int> {
            begun.open();
            open->wait();
            OneTimeGate::open_at_thread_exit(ended);
            return 1;
        };
        world.calls->run({}, TimePoint::max(), call, [](Result<int>) { fail_msg("answered"); });
        world.calls->run({}, TimePoint::max(), at_once(2), [](Result<int>) { fail_msg("answered"); });
        begun.wait();
        world.calls.reset(); // would hang
    }
    gate.open->open();
    OneTimeGate::await_thread_exit(ended); // or a sanitizer would find the thread at the end
}

void a_callback_may_end_its_owner(void **) {
    World world;
    world.calls->run("q", TimePoint::max(), at_once(1), [&](Result<int>) {
        world.calls.reset();
        world.loop->stop();
    });
    world.calls->run("q", TimePoint::max(), at_once(1), [&](Result<int>) { fail_msg("answered"); });
    assert_true(world.loop->run().ok());
    assert_false(world.calls.has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_in_order),
        cmocka_unit_test(failures_come_back),
        cmocka_unit_test(callers_do_not_wait_longer_than_they_want),
        cmocka_unit_test(only_so_many_may_wait),
        cmocka_unit_test(the_same_question_is_asked_once),
        cmocka_unit_test(each_has_a_deadline_of_its_own),
        cmocka_unit_test(a_stuck_call_stops_no_other_thread),
        cmocka_unit_test(threads_that_are_stuck_are_left_behind),
        cmocka_unit_test(who_leaves_does_not_wait),
        cmocka_unit_test(a_callback_may_end_its_owner),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
