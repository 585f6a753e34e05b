// Threads for calls that block: what happens when there are none, when a job throws, and when it sticks.
#include "common/loop/worker.h"

#include "common/base/log.h"
#include "common/base/start_thread.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <fcntl.h>
#include <optional>
#include <pthread.h>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"

using namespace pmixhost;
using namespace std::chrono_literals;

// Replaces libc's function, for everything in this program.
static std::atomic<bool> refuse_threads = false;
extern "C" __attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *data) {
    if (refuse_threads)
        return EAGAIN;
    static auto *real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, start, data);
}

namespace {

std::unique_ptr<EventLoop> make_loop() {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    return std::move(*made);
}

std::string signal_mask() {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    std::string text;
    for (int signal = 1; signal < NSIG; ++signal)
        text += sigismember(&mask, signal) == 1 ? '1' : '0';
    return text;
}

auto gives(int value) {
    return [value]() -> Result<int> { return value; };
}

void a_thread_that_cannot_start_is_an_answer(void **) {
    auto loop = make_loop();
    std::string before = signal_mask();
    Worker worker(*loop);
    std::vector<std::string> said;
    auto hear = [&](Result<int> value) {
        said.push_back(value ? std::to_string(*value) : value.failure().text);
        assert_true(value.ok() || value.failure().kind == ErrorKind::limit);
        loop->stop();
    };
    refuse_threads = true;
    worker.run(gives(1), hear);
    assert_true(said.empty()); // never from within
    assert_string_equal(signal_mask().c_str(), before.c_str());
    assert_true(loop->run().ok());
    assert_non_null(strstr(said.at(0).c_str(), "process limit reached?"));
    refuse_threads = false;
    worker.run(gives(2), hear);
    assert_true(loop->run().ok());
    assert_string_equal(said.at(1).c_str(), "2");
    assert_string_equal(signal_mask().c_str(), before.c_str());
}

void a_bare_start_tells_too(void **) {
    refuse_threads = true;
    std::string before = signal_mask();
    auto started = start_thread([] { std::abort(); });
    refuse_threads = false;
    assert_false(started.ok());
    assert_true(started.failure().kind == ErrorKind::limit);
    assert_string_equal(signal_mask().c_str(), before.c_str());
}

void a_thread_has_all_signals_blocked_and_may_throw(void **) {
    auto mask_of = std::make_shared<std::string>();
    auto seen = std::make_shared<OneTimeGate>();
    assert_true(start_thread([seen, mask_of] {
                    *mask_of = signal_mask();
                    seen->open();
                    throw std::bad_alloc();
                }).ok());
    seen->wait();
    const std::string &mask = *mask_of;
    for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD})
        assert_true(mask.at(static_cast<std::size_t>(signal) - 1) == '1');
}

void a_job_that_throws_is_an_answer(void **) {
    auto loop = make_loop();
    Worker worker(*loop);
    std::vector<std::string> said;
    auto hear = [&](Result<int> value) {
        said.push_back(value ? std::to_string(*value) : value.failure().text);
        if (said.size() == 3)
            loop->stop();
    };
    worker.run([]() -> Result<int> { throw std::runtime_error("no luck"); }, hear);
    worker.run([]() -> Result<int> { throw 7; }, hear);
    worker.run(gives(3), hear);
    assert_true(loop->run().ok());
    assert_true(
        (said == std::vector<std::string>{"internal error: no luck", "internal error: unknown exception", "3"}));
}

// Values that cannot be copied come through as well.
void values_may_be_moved_only(void **) {
    auto loop = make_loop();
    Worker worker(*loop);
    int got = 0;
    worker.run([]() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); },
               [&](Result<std::unique_ptr<int>> value) {
                   got = **value;
                   loop->stop();
               });
    assert_true(loop->run().ok());
    assert_int_equal(got, 5);
}

void who_leaves_does_not_wait_for_a_stuck_job(void **) {
    auto loop = make_loop();
    auto open = std::make_shared<OneTimeGate>();
    auto ended = std::make_shared<OneTimeGate>();
    std::atomic<bool> second = false;
    auto begin = std::chrono::steady_clock::now();
    {
        Worker worker(*loop);
        worker.run(
            [open, ended]() -> Result<int> {
                open->wait();
                OneTimeGate::open_at_thread_exit(ended);
                return 1;
            },
            [](Result<int>) { fail_msg("answered"); });
        worker.run([&second]() -> Result<int> { return second = true; }, [](Result<int>) { fail_msg("answered"); });
        assert_false(worker.finish(100ms));
    }
    assert_true(std::chrono::steady_clock::now() - begin < 10s);
    open->open();
    OneTimeGate::await_thread_exit(ended);
    assert_false(second);
}

// srun is told why its step ends by a daemon that is already on its way.
void what_was_asked_for_is_finished(void **) {
    auto loop = make_loop();
    std::atomic<int> called = 0;
    {
        Worker worker(*loop);
        assert_true(worker.finish(0ms)); // it has nothing to do
        for (int i = 0; i < 3; ++i)
            worker.run([&called]() -> Result<int> { return ++called; }, [](Result<int>) { fail_msg("answered"); });
        assert_true(worker.finish(60s));
        assert_int_equal(called, 3);
    }
}

// A log whose thread cannot be started keeps its lines until one can, or until the end.
void lines_wait_for_a_thread(void **) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    refuse_threads = true;
    {
        Log log(ends[1], LogLevel::info, "t");
        log.do_not_wait();
        log.info("one");
        refuse_threads = false;
        log.info("two");
        log.flush();
        refuse_threads = true;
    }
    {
        Log log(ends[1], LogLevel::info, "t");
        log.do_not_wait();
        log.info("three");
    }
    refuse_threads = false;
    close(ends[1]);
    std::string text;
    char buffer[4096];
    ssize_t n;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    auto one = text.find("one"), two = text.find("two"), three = text.find("three");
    assert_true(one < two && two < three && three != std::string::npos);
}

} // namespace

int main() {
    alarm(120); // what sticks is a failure
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_cannot_start_is_an_answer),
        cmocka_unit_test(a_bare_start_tells_too),
        cmocka_unit_test(a_thread_has_all_signals_blocked_and_may_throw),
        cmocka_unit_test(a_job_that_throws_is_an_answer),
        cmocka_unit_test(values_may_be_moved_only),
        cmocka_unit_test(who_leaves_does_not_wait_for_a_stuck_job),
        cmocka_unit_test(what_was_asked_for_is_finished),
        cmocka_unit_test(lines_wait_for_a_thread),
    };
    return cmocka_run_group_tests_name("worker", tests, nullptr, nullptr);
}
