// The event loop: posts, timers, and what stop() means for this run and the next.
#include "common/loop/event_loop.h"
#include "common/loop/deadline_timer.h"

#include <atomic>
#include <filesystem>
#include <stdexcept>
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

void a_deadline_may_be_moved(void **) {
    auto loop = make_loop();
    int calls = 0;
    TimePoint called{};
    DeadlineTimer timer(*loop, [&] {
        ++calls;
        called = loop->now();
        loop->stop();
    });
    TimePoint begin = loop->now();
    timer.arm(begin + 5ms);
    timer.arm(begin + 40ms); // put off
    assert_true(loop->run().ok());
    assert_true(calls == 1 && called >= begin + 40ms);
    timer.arm(loop->now() + 1h);
    timer.arm(loop->now() + 1ms); // brought forward
    assert_true(loop->run().ok());
    assert_int_equal(calls, 2);
    timer.arm(loop->now() + 1ms);
    timer.arm(TimePoint::max()); // given up
    auto later = loop->after(20ms, [&] { loop->stop(); });
    assert_true(loop->run().ok());
    assert_int_equal(calls, 2);
    timer.arm(loop->now());
    assert_true(loop->run().ok());
    assert_int_equal(calls, 3);
}

// --- another thread takes a turn ----------------------------------------------------------------------

// Until the loop waits, which another thread cannot see but by this.
template <typename Once> void until_it_waits(EventLoop &loop, Once once) {
    for (std::atomic<bool> here{false}, tried{false}; !here.load();) {
        tried = false;
        loop.run_or_post([&, asks = std::this_thread::get_id()] {
            if (std::this_thread::get_id() == asks) {
                once();
                here = true;
            }
            tried = true;
        });
        while (!tried.load())
            std::this_thread::yield();
    }
}

void who_comes_while_it_waits_is_served_at_once(void **) {
    auto loop = make_loop();
    int turns = 0, seen = 0; // without a lock: turns do not meet
    EventLoop::Handle timer;
    auto watch = loop->before_waiting([&] { seen = turns; });
    bool fired = false;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) {
            until_it_waits(*loop, [&] { ++turns; });
            loop->post([&, i] {
                ++turns;
                assert_int_equal(seen, 2 * i + 1); // it was asked there too
            });
        }
        // What is begun there goes on in the loop.
        until_it_waits(*loop, [&] {
            timer = loop->after(1ms, [&] {
                fired = true;
                loop->stop();
            });
        });
    });
    assert_true(loop->run().ok());
    other.join();
    assert_true(fired);
    assert_int_equal(turns, 200);
}

void who_comes_in_its_turn_is_served_behind_it(void **) {
    auto loop = make_loop();
    std::vector<int> order;
    std::thread other;
    loop->run_or_post([&] { order.push_back(0); }); // it does not run yet
    assert_int_equal(order.size(), 0);
    loop->post([&] {
        loop->run_or_post([&] { order.push_back(2); }); // never from within
        order.push_back(1);
        std::thread([&] { loop->run_or_post([&] { order.push_back(3); }); }).join(); // nor beside
        assert_int_equal(order.size(), 2);
        loop->post([&] { loop->stop(); });
    });
    assert_true(loop->run().ok());
    assert_int_equal(order.size(), 4);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(order[i], i);
    loop->run_or_post([&] { order.push_back(4); }); // nor any more
    assert_int_equal(order.size(), 4);
}

// What is on its way to the loop's own thread meanwhile finds nobody.
void what_is_dropped_elsewhere_is_not_called_back(void **) {
    auto loop = make_loop();
    int ends[2];
    assert_int_equal(::pipe(ends), 0);
    std::atomic<int> called{0};
    std::thread other([&] {
        for (int i = 0; i < 200; ++i) {
            EventLoop::Handle watch, timer;
            until_it_waits(*loop, [&] {
                auto dropped = std::make_shared<bool>(false);
                watch = loop->watch(ends[0], EventLoop::readable, [&, dropped](unsigned) { called += *dropped; });
                timer = loop->after(0ms, [&, dropped] { called += *dropped; });
                assert_int_equal(::write(ends[1], "", 1), 1); // the loop wakes up, and waits for its turn
                for (TimePoint end = Clock::now() + 50us; Clock::now() < end;) {
                }
                auto gone = std::weak_ptr<bool>(dropped);
                *dropped = true;
                watch.reset();
                timer.reset();
                dropped.reset();
                assert_true(gone.expired()); // what the callbacks owned has gone with them
                char byte = 0;
                assert_int_equal(::read(ends[0], &byte, 1), 1);
                auto owned = std::make_shared<EventLoop::Handle>(); // by its own callback alone
                EventLoop::Handle &own = *owned;
                own = loop->after(1h, [owned] {});
                owned.reset();
                own.reset();
            });
        }
        loop->stop();
    });
    assert_true(loop->run().ok());
    other.join();
    assert_int_equal(called.load(), 0);
    ::close(ends[0]);
    ::close(ends[1]);
}

void what_is_thrown_elsewhere_goes_no_further(void **) {
    std::string told;
    auto made = EventLoop::create([&](const std::string &what) { told = what; });
    auto &loop = *made;
    std::atomic<bool> thrown{false};
    std::thread other([&] {
        while (!thrown.load()) {
            loop->run_or_post([&, asks = std::this_thread::get_id()] {
                if (std::this_thread::get_id() != asks)
                    return;
                thrown = true;
                throw std::runtime_error("as a test does");
            });
            std::this_thread::yield();
        }
        loop->stop();
    });
    assert_true(loop->run().ok());
    other.join();
    assert_string_equal(told.c_str(), "as a test does");
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
        cmocka_unit_test(a_deadline_may_be_moved),
        cmocka_unit_test(who_comes_while_it_waits_is_served_at_once),
        cmocka_unit_test(who_comes_in_its_turn_is_served_behind_it),
        cmocka_unit_test(what_is_dropped_elsewhere_is_not_called_back),
        cmocka_unit_test(what_is_thrown_elsewhere_goes_no_further),
    };
    return cmocka_run_group_tests_name("event loop", tests, nullptr, nullptr);
}
