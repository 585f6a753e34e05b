// The thread in which libpmix is called: order, and a job that blocks for ever.
#include "server-glue/library/library_thread.h"

#include <atomic>
#include <thread>
#include <vector>

#include "test/unit/counted_memory.h"
#include "test/unit/library_gate.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

void jobs_run_in_order_in_one_thread(void **) {
    auto thread = make_thread();
    std::vector<int> seen;
    std::vector<std::thread::id> where;
    for (int i = 0; i < 1000; ++i)
        thread->run("job", [&, i] {
            seen.push_back(i);
            where.push_back(std::this_thread::get_id());
        });
    assert_true(thread->end(10s));
    assert_int_equal(seen.size(), 1000);
    for (int i = 0; i < 1000; ++i) {
        assert_int_equal(seen[static_cast<std::size_t>(i)], i);
        assert_true(where[static_cast<std::size_t>(i)] == where.front());
    }
    assert_true(where.front() != std::this_thread::get_id());
}

void what_a_job_throws_stops_nothing(void **) {
    std::string said;
    auto thread = make_thread([&](const std::string &what) { said += what; });
    bool next = false;
    thread->run("throws", [] { throw std::runtime_error("oh"); });
    thread->run("next", [&] { next = true; });
    assert_true(thread->end(10s));
    assert_true(next);
    assert_string_equal(said.c_str(), "oh");
}

void who_asks_does_not_wait_for_a_job_that_blocks(void **) {
    auto thread = make_thread();
    auto gate = std::make_shared<Gate>();
    bool later = false;
    thread->run("PMIx_blocks", blocks(gate));
    gate->reached.wait();
    thread->run("later", [&] { later = true; });
    assert_string_equal(thread->running(), "PMIx_blocks");
    assert_false(thread->end(20ms)); // nor does who ends it
    assert_false(thread->run("too late", [] { fail_msg("was run"); }));
    gate->opening.open();
    assert_true(thread->end(10s));
    assert_true(later);
    assert_null(thread->running());
}

void a_thread_may_be_left_behind(void **) {
    auto gate = std::make_shared<Gate>();
    auto ended = std::make_shared<OneTimeGate>();
    {
        auto thread = make_thread();
        thread->run("PMIx_blocks", blocks(gate));
        thread->run("last", [ended] { ended->open(); });
        gate->reached.wait();
        assert_false(thread->end(0s));
        std::thread opener([&] {
            std::this_thread::yield();
            gate->opening.open();
        });
        opener.join();
    }
    ended->wait();
}

// An answer that tells of a lack of memory must not need any.
void a_small_job_takes_no_memory(void **) {
    auto thread = make_thread();
    auto gate = std::make_shared<Gate>();
    thread->run("PMIx_blocks", blocks(gate));
    gate->reached.wait();
    std::atomic<int> count = 0;
    std::size_t before = allocations;
    for (std::size_t i = 0; i < LibraryThread::reserved; ++i)
        thread->run("small", [at = &count, one = 1L] { *at += static_cast<int>(one); });
    assert_int_equal(allocations, before);
    gate->opening.open();
    assert_true(thread->end(10s));
    assert_int_equal(count, LibraryThread::reserved);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_in_order_in_one_thread),
        cmocka_unit_test(what_a_job_throws_stops_nothing),
        cmocka_unit_test(who_asks_does_not_wait_for_a_job_that_blocks),
        cmocka_unit_test(a_thread_may_be_left_behind),
        cmocka_unit_test(a_small_job_takes_no_memory),
    };
    return cmocka_run_group_tests_name("library thread", tests, nullptr, nullptr);
}
