// The event loop: posts, timers, and what stop() means for this run and the next.
#include "common/loop/event_loop.h"

#include <filesystem>
#include <thread>
#include <unistd.h>
#include <vector>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<EventLoop> make_loop() {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    return std::move(*made);
}

void posts_run_in_order_from_any_thread(void **) {
    auto loop = make_loop();
    std::vector<int> seen;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i)
            loop->post([&seen, i] { seen.push_back(i); });
        loop->stop();
    });
    assert_true(loop->run().ok());
    other.join();
    assert_int_equal(seen.size(), 100);
    for (int i = 0; i < 100; ++i)
        assert_int_equal(seen[i], i);
}

// The loop could not be told any more to watch it no longer, and would turn for whatever comes there.
void a_descriptor_that_is_closed_while_watched_is_told(void **) {
    std::string told;
    auto made = EventLoop::create([&](const std::string &what) { told += what + "\n"; });
    auto &loop = *made;
    int ends[2];
    assert_int_equal(::pipe(ends), 0);
    {
        auto watch = loop->watch(ends[0], EventLoop::readable, [](unsigned) {});
        auto timer = loop->after(1h, [] {});
    }
    assert_string_equal(told.c_str(), "");
    {
        auto watch = loop->watch(ends[0], EventLoop::readable, [](unsigned) {});
        ::close(ends[0]);
    }
    assert_string_equal(told.c_str(), fmt::format("descriptor {} was closed while it was watched\n", ends[0]).c_str());
    ::close(ends[1]);
}

void a_loop_can_run_again(void **) {
    auto loop = make_loop();
    for (int round = 0; round < 3; ++round) {
        // Posts are what made a run end early: they wake the loop, which then found an old stop.
        bool posted = false, late = false;
        loop->post([&] { posted = true; });
        auto timer = loop->after(20ms, [&] {
            late = true;
            loop->stop();
        });
        assert_true(loop->run().ok());
        assert_true(posted && late);
    }
}

void a_stop_before_the_run_ends_it(void **) {
    auto loop = make_loop();
    loop->stop();
    loop->stop();
    bool late = false;
    auto timer = loop->after(10s, [&] {
        late = true;
        loop->stop();
    });
    assert_true(loop->run().ok());
    assert_false(late);
    auto soon = loop->after(1ms, [&] {
        late = true;
        loop->stop();
    });
    assert_true(loop->run().ok()); // two stops ended one run
    assert_true(late);
}

void a_handle_may_be_dropped_in_its_own_callback(void **) {
    auto loop = make_loop();
    EventLoop::Handle timer;
    int fired = 0;
    timer = loop->after(0ms, [&] {
        ++fired;
        timer.reset();
        loop->stop();
    });
    assert_true(loop->run().ok());
    assert_int_equal(fired, 1);
    assert_false(static_cast<bool>(timer));
}

// The descriptor that libevent waits with, closed as by somebody who closes a number twice.
void a_time_that_is_over_is_soon(void **) {
    auto loop = make_loop();
    bool came = false;
    auto forever = loop->after(Duration::max(), [] { fail(); });
    auto timer = loop->after(-5s, [&] {
        came = true;
        loop->stop();
    });
    assert_true(loop->run().ok());
    assert_true(came);
}

void a_timer_is_not_early(void **) {
    auto loop = make_loop();
    TimePoint set{};
    Duration waited{};
    EventLoop::Handle timer;
    loop->post([&] {
        // So long has the loop been busy since it woke up.
        for (TimePoint woke = Clock::now(); Clock::now() < woke + 20ms;) {
        }
        set = Clock::now();
        timer = loop->after(30ms, [&] {
            waited = Clock::now() - set;
            loop->stop();
        });
    });
    assert_true(loop->run().ok());
    assert_true(waited >= 30ms);
}

void a_loop_that_cannot_wait_ends_with_an_error(void **) {
    auto loop = make_loop();
    int closed = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone).string() == "anon_inode:[eventpoll]")
            closed = std::stoi(entry.path().filename().string());
    }
    assert_true(closed > 0);
    auto late = loop->after(60s, [] { fail_msg("it waited"); });
    ::close(closed);
    auto ran = loop->run();
    assert_false(ran.ok());
    assert_non_null(strstr(ran.failure().text.c_str(), "the event loop"));
}

// What has been done in a callback is seen before the loop waits, by whoever wants to.
void somebody_is_asked_before_each_wait(void **) {
    auto loop = make_loop();
    int changes = 0, seen = 0, dropped = 0;
    EventLoop::Handle timer;
    auto watch = loop->before_waiting([&] {
        seen = changes;
        if (changes == 3)
            loop->stop();
        else if (changes == 2 && !timer)
            timer = loop->after(1ms, [&] {
                assert_int_equal(seen, 2);
                ++changes;
            });
    });
    auto other = loop->before_waiting([&] { ++dropped; });
    loop->post([&] {
        ++changes;
        assert_int_equal(seen, 0); // asked when all that was due is done, not after each
        other.reset();
    });
    loop->post([&] { ++changes; });
    assert_true(loop->run().ok());
    assert_int_equal(seen, 3);
    assert_int_equal(dropped, 1); // only before the posts were seen
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(posts_run_in_order_from_any_thread),
        cmocka_unit_test(a_descriptor_that_is_closed_while_watched_is_told),
        cmocka_unit_test(a_loop_can_run_again),
        cmocka_unit_test(a_stop_before_the_run_ends_it),
        cmocka_unit_test(a_handle_may_be_dropped_in_its_own_callback),
        cmocka_unit_test(a_time_that_is_over_is_soon),
        cmocka_unit_test(a_timer_is_not_early),
        cmocka_unit_test(a_loop_that_cannot_wait_ends_with_an_error),
        cmocka_unit_test(somebody_is_asked_before_each_wait),
    };
    return cmocka_run_group_tests_name("event loop", tests, nullptr, nullptr);
}
