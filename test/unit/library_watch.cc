// The watch over libpmix: when a library that does not answer is taken for stuck.
#include "server-glue/library/library_watch.h"

#include "test/unit/library_gate.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<EventLoop> make_loop() {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    return std::move(*made);
}

using Verdict = LibraryWatchdog::Verdict;

void silence_is_noticed_after_the_timeout(void **) {
    LibraryWatchdog dog(8s);
    TimePoint now{};
    assert_true(dog.interval() == 1s);
    assert_true(dog.look(now) == Verdict::ask);
    for (int i = 1; i < 8; ++i)
        assert_true(dog.look(now + i * 1s) == Verdict::well);
    assert_true(dog.look(now + 8s) == Verdict::stuck);
    assert_true(dog.look(now + 9s) == Verdict::well); // it is said once
}

void an_answer_begins_anew(void **) {
    LibraryWatchdog dog(8s);
    TimePoint now{};
    for (int round = 0; round < 5; ++round) {
        assert_true(dog.look(now += 1s) == Verdict::ask);
        for (int i = 0; i < 7; ++i)
            assert_true(dog.look(now += 1s) == Verdict::well);
        dog.answered();
    }
}

// scontrol suspend: of the night between two looks one interval counts.
void time_in_which_the_process_is_stopped_does_not_count(void **) {
    LibraryWatchdog dog(8s);
    TimePoint now{};
    assert_true(dog.look(now) == Verdict::ask);
    assert_true(dog.look(now += 10h) == Verdict::well);
    for (int i = 0; i < 6; ++i)
        assert_true(dog.look(now += 1s) == Verdict::well);
    assert_true(dog.look(now += 1s) == Verdict::stuck);
}

// As the daemon has it, with something in libpmix' place that answers in its own time.
void a_call_that_does_not_return_is_seen(void **) {
    auto loop = make_loop();
    auto thread = make_thread();
    auto gate = std::make_shared<Gate>();
    std::string said;
    int asked = 0;
    LibraryWatch watch(
        *loop, *thread, 400ms,
        [&](LibraryThread &the, std::function<void()> answered) {
            // The second question is behind a call that blocks.
            if (++asked == 2)
                the.run("PMIx_blocks", blocks(gate));
            the.run("question", answered);
        },
        [&](std::string why) {
            said = why;
            loop->stop();
        });
    assert_true(loop->run().ok());
    assert_int_equal(asked, 2);
    assert_string_equal(said.c_str(), "libpmix has not answered for 0.4 s (daemon.library_timeout): "
                                      "PMIx_blocks does not return");
    gate->opening.open();
    assert_true(thread->end(10s));
}

void a_progress_thread_that_stands_still_is_seen(void **) {
    auto loop = make_loop();
    auto thread = make_thread();
    std::string said;
    LibraryWatch watch(
        *loop, *thread, 80ms, [](LibraryThread &, std::function<void()>) {},
        [&](std::string why) {
            said = why;
            loop->stop();
        });
    assert_true(loop->run().ok());
    assert_true(said.ends_with("its progress thread does not go round"));
}

void a_library_that_is_slow_is_left_alone(void **) {
    auto loop = make_loop();
    auto thread = make_thread();
    int asked = 0;
    LibraryWatch watch(
        *loop, *thread, 2s,
        [&](LibraryThread &the, std::function<void()> answered) {
            the.run("question", answered);
            if (++asked == 4)
                loop->stop();
        },
        [](std::string why) { fail_msg("%s", why.c_str()); });
    assert_true(loop->run().ok());
    // 0: nobody watches.
    LibraryWatch none(
        *loop, *thread, 0s, [](LibraryThread &, std::function<void()>) { fail_msg("asked"); }, [](std::string) {});
    assert_true(thread->end(10s));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_noticed_after_the_timeout),
        cmocka_unit_test(an_answer_begins_anew),
        cmocka_unit_test(time_in_which_the_process_is_stopped_does_not_count),
        cmocka_unit_test(a_call_that_does_not_return_is_seen),
        cmocka_unit_test(a_progress_thread_that_stands_still_is_seen),
        cmocka_unit_test(a_library_that_is_slow_is_left_alone),
    };
    return cmocka_run_group_tests_name("library watch", tests, nullptr, nullptr);
}
