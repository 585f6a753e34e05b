// Answers that go to the thread of an event base directly: the bell, the share that this thread has in the library
// thread's work, their order, and how it ends.
#include "server-glue/library/direct_answers.h"
#include "server-glue/guard/assigned_base.h"

#include <atomic>
#include <event2/event.h>
#include <event2/thread.h>
#include <thread>
#include <vector>

#include "test/unit/library_gate.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// What libpmix has: a base and a thread that turns it, to which others shift what is to be done.
class Progress {
  public:
    Progress() {
        evthread_use_pthreads();
        base_ = event_base_new();
        thread_ = std::thread([this] { event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY); });
    }
    ~Progress() {
        event_base_loopbreak(base_);
        thread_.join();
        event_base_free(base_);
    }
    event_base *base() const { return base_; }
    std::thread::id id() const { return thread_.get_id(); }
    void shift(std::function<void()> what) const {
        struct Shifted {
            event *one;
            std::function<void()> what;
        };
        auto *shifted = new Shifted{nullptr, std::move(what)};
        auto run = [](evutil_socket_t, short, void *data) {
            std::unique_ptr<Shifted> the(static_cast<Shifted *>(data));
            the->what();
            event_free(the->one);
        };
        shifted->one = event_new(base_, -1, EV_WRITE, run, shifted);
        event_active(shifted->one, EV_WRITE, 1);
    }
    // Until what was shifted has been done.
    void settle() const {
        auto done = std::make_shared<OneTimeGate>();
        shift([done] { done->open(); });
        done->wait();
    }

  private:
    event_base *base_;
    std::thread thread_;
};

// Begun, and heard once: the share is open if the base is of the thread that was told to be the one.
std::unique_ptr<DirectAnswers> hung(LibraryThread &thread, const Progress &progress, const Progress &known) {
    auto direct = std::make_unique<DirectAnswers>();
    known.shift([&direct] { direct->know_thread(); });
    known.settle();
    auto begun = direct->begin(progress.base(), thread);
    assert_true(begun.ok());
    // The bell is seen when the base is asked for what has come, which is before what is shifted the second time.
    progress.settle();
    progress.settle();
    return direct;
}

// In which thread an answer is given.
std::thread::id answers_in(LibraryThread &thread) {
    auto where = std::make_shared<std::thread::id>();
    auto given = std::make_shared<OneTimeGate>();
    assert_true(thread.answer("answer", [where, given] {
        *where = std::this_thread::get_id();
        given->open();
    }));
    given->wait();
    return *where;
}

// Until a batch of the library thread is over, answers stay with it.
void rests(LibraryThread &thread, const std::thread::id &in) {
    for (int i = 0; i < 100'000 && answers_in(thread) != in; ++i)
        std::this_thread::yield();
    assert_true(answers_in(thread) == in);
}

void an_answer_is_given_in_the_thread_of_the_base(void **) {
    Progress progress;
    auto thread = make_thread();
    assert_true(answers_in(*thread) != progress.id());
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    direct.reset();
    assert_true(answers_in(*thread) != progress.id());
    assert_true(thread->end(10s));
}

void a_base_of_another_thread_gets_none(void **) {
    Progress progress, other;
    auto thread = make_thread();
    auto direct = hung(*thread, other, progress);
    for (int i = 0; i < 100; ++i) {
        auto where = answers_in(*thread);
        assert_true(where != progress.id() && where != other.id());
    }
    direct.reset();
    assert_true(thread->end(10s));
}

// Whoever gives them, calls and answers come in the order in which they were handed over, one at a time.
void the_order_is_kept(void **) {
    Progress progress;
    auto thread = make_thread();
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    constexpr int count = 20'000;
    std::vector<int> seen;
    seen.reserve(count);
    std::atomic<int> direct_ones = 0, inside = 0, together = 0;
    for (int i = 0; i < count; ++i) {
        auto job = [&, i] {
            together += inside++ != 0;
            seen.push_back(i);
            direct_ones += std::this_thread::get_id() == progress.id();
            --inside;
        };
        // Bursts of answers, and a call now and then.
        bool taken = i % 97 == 0 ? thread->run("call", job) : thread->answer("answer", job);
        assert_true(taken);
        if (i % 31 == 0)
            std::this_thread::yield();
    }
    assert_true(thread->end(30s));
    direct.reset();
    assert_int_equal(seen.size(), count);
    for (int i = 0; i < count; ++i)
        assert_int_equal(seen[static_cast<std::size_t>(i)], i);
    assert_int_equal(together, 0);
    assert_true(direct_ones > 0);
}

// The base's thread stands: who answers does not wait, and what is called next gives what was left for that thread.
void what_the_base_does_not_take_the_library_thread_gives(void **) {
    Progress progress;
    auto thread = make_thread();
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    auto gate = std::make_shared<Gate>();
    progress.shift(blocks(gate));
    gate->reached.wait();
    std::vector<int> seen;
    for (int i = 0; i < 3; ++i)
        thread->answer("answer", [&, i] { seen.push_back(i); });
    auto called = std::make_shared<OneTimeGate>();
    thread->run("call", [called] { called->open(); });
    called->wait();
    assert_true(seen == (std::vector<int>{0, 1, 2}));
    gate->opening.open();
    progress.settle();
    progress.settle();
    assert_int_equal(seen.size(), 3);
    direct.reset();
    assert_true(thread->end(10s));
}

// While the library thread runs something, what comes behind it waits for it.
void nobody_overtakes_a_call_that_runs(void **) {
    Progress progress;
    auto thread = make_thread();
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    auto gate = std::make_shared<Gate>();
    thread->run("PMIx_blocks", blocks(gate));
    gate->reached.wait();
    std::atomic<bool> given = false;
    thread->answer("answer", [&] { given = true; });
    progress.settle();
    progress.settle();
    assert_false(given);
    gate->opening.open();
    assert_true(thread->end(10s));
    assert_true(given);
}

// With the share goes what nobody has given; no call has to come for it.
void what_is_left_in_the_share_is_given(void **) {
    Progress progress;
    auto thread = make_thread();
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    auto gate = std::make_shared<Gate>();
    progress.shift(blocks(gate));
    gate->reached.wait();
    auto given = std::make_shared<OneTimeGate>();
    thread->answer("answer", [given] { given->open(); });
    direct.reset();
    given->wait();
    gate->opening.open();
    assert_true(thread->end(10s));
}

// An answer that does not return holds up what is called behind it, as one in the library thread does, and is named.
void an_answer_that_blocks_is_seen(void **) {
    Progress progress;
    auto thread = make_thread();
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    auto gate = std::make_shared<Gate>();
    thread->answer("an answer", blocks(gate));
    gate->reached.wait();
    auto called = std::make_shared<std::atomic<bool>>(false);
    thread->run("call", [called] { *called = true; });
    assert_string_equal(thread->running(), "an answer");
    assert_false(thread->end(20ms));
    assert_false(*called);
    assert_false(thread->answer("too late", [] { fail_msg("was given"); }));
    gate->opening.open();
    assert_true(thread->end(10s));
    assert_true(*called);
}

// The bell is taken down in the library thread while answers come, as when libpmix is ended.
void nothing_is_lost_at_the_end(void **) {
    for (int round = 0; round < 50; ++round) {
        Progress progress;
        auto thread = make_thread();
        auto direct = std::make_shared<std::unique_ptr<DirectAnswers>>(hung(*thread, progress, progress));
        std::atomic<int> given = 0;
        constexpr int count = 400;
        for (int i = 0; i < count; ++i) {
            if (i == count / 2)
                thread->run("the end", [direct] { direct->reset(); });
            thread->answer("answer", [&] { ++given; });
        }
        assert_true(thread->end(30s));
        assert_int_equal(given, count);
    }
}

// Who holds the rope may ring once more: nobody hears it.
void a_bell_that_has_gone_is_not_heard(void **) {
    Progress progress;
    std::atomic<int> heard = 0;
    auto bell = AnswerBell::hang(progress.base(), [&] { ++heard; });
    assert_true(bell.ok());
    auto rope = (*bell)->rope();
    for (int i = 0; i < 3; ++i) {
        int before = heard;
        rope();
        while (heard == before)
            progress.settle();
    }
    bell->reset();
    int before = heard;
    rope();
    progress.settle();
    progress.settle();
    assert_int_equal(heard, before);
}

void the_last_to_have_the_share_may_be_left_behind(void **) {
    Progress progress;
    auto thread = make_thread();
    auto direct = hung(*thread, progress, progress);
    rests(*thread, progress.id());
    assert_true(thread->end(10s));
    thread.reset();
    direct.reset();
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_given_in_the_thread_of_the_base),
        cmocka_unit_test(a_base_of_another_thread_gets_none),
        cmocka_unit_test(the_order_is_kept),
        cmocka_unit_test(what_the_base_does_not_take_the_library_thread_gives),
        cmocka_unit_test(nobody_overtakes_a_call_that_runs),
        cmocka_unit_test(what_is_left_in_the_share_is_given),
        cmocka_unit_test(an_answer_that_blocks_is_seen),
        cmocka_unit_test(nothing_is_lost_at_the_end),
        cmocka_unit_test(a_bell_that_has_gone_is_not_heard),
        cmocka_unit_test(the_last_to_have_the_share_may_be_left_behind),
    };
    return cmocka_run_group_tests_name("direct answers", tests, nullptr, nullptr);
}
