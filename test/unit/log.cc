// Whoever logs does not wait for whoever reads the log, and what is lost is counted.
#include "common/base/log.h"

#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "common/base/unique_fd.h"
#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Pipe {
    UniqueFd read, write;
    Pipe() {
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        read.reset(ends[0]);
        write.reset(ends[1]);
        fcntl(write.get(), F_SETPIPE_SZ, 4096);
    }
    // All that comes until nobody can write any more.
    std::string rest() {
        std::string text;
        char buffer[65536];
        ssize_t n;
        while ((n = ::read(read.get(), buffer, sizeof buffer)) > 0)
            text.append(buffer, static_cast<std::size_t>(n));
        return text;
    }
};

// Counts the lines, those that are said to be lost too; they must be in order.
std::size_t count(const std::string &text, std::size_t *lost = nullptr) {
    std::istringstream in(text);
    std::string line;
    std::size_t next = 0, missing = 0;
    while (std::getline(in, line)) {
        if (auto at = line.find(" lines were lost"); at != std::string::npos) {
            std::size_t n = std::stoul(line.substr(line.rfind(' ', at - 1) + 1));
            next += n;
            missing += n;
            continue;
        }
        auto at = line.find("line ");
        assert_true(at != std::string::npos);
        assert_int_equal(std::stoul(line.substr(at + 5)), next);
        ++next;
    }
    if (lost)
        *lost = missing;
    return next;
}

void who_reads_waits_for_no_log_that_has_gone_elsewhere(void **) {
    Pipe pipe;
    UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Log log(pipe.write.get(), LogLevel::info, "test");
    log.do_not_wait();
    log.info("line 0");
    log.go_to(null.get());
    pipe.write.reset();
    log.info("line 1");
    assert_int_equal(count(pipe.rest()), 1); // while the log is there
}

void a_full_pipe_stops_nobody(void **) {
    constexpr std::size_t lines = 40'000; // more than may wait
    Pipe pipe;
    std::string text;
    std::thread reader;
    {
        Log log(pipe.write.get(), LogLevel::info, "test");
        log.do_not_wait();
        auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < lines; ++i)
            log.info("line {}", i);
        assert_true(std::chrono::steady_clock::now() - begin < 20s);
        reader = std::thread([&] { text = pipe.rest(); });
    } // waits for what the reader now takes
    pipe.write.reset();
    reader.join();
    std::size_t lost = 0;
    assert_int_equal(count(text, &lost), lines);
    assert_true(lost > 0 && lost < lines);
}

void nothing_is_lost_at_the_end(void **) {
    for (int round = 0; round < 50; ++round) {
        Pipe pipe;
        std::string text;
        std::thread reader([&] { text = pipe.rest(); });
        {
            Log log(pipe.write.get(), LogLevel::info, "test");
            log.info("line {}", 0); // at once
            log.do_not_wait();
            for (std::size_t i = 1; i < 100; ++i)
                log.info("line {}", i);
        }
        pipe.write.reset();
        reader.join();
        assert_int_equal(count(text), 100);
    }
}

void who_leaves_waits_no_longer_than_it_must(void **) {
    Pipe pipe;
    auto begin = std::chrono::steady_clock::now();
    {
        Log log(pipe.write.get(), LogLevel::info, "test");
        log.do_not_wait();
        for (std::size_t i = 0; i < 1000; ++i)
            log.info("line {}", i);
    }
    assert_true(std::chrono::steady_clock::now() - begin < LineWriter::patience + 5s);
    // What the thread still has comes when somebody reads.
    pipe.write.reset();
    assert_int_equal(count(pipe.rest()), 1000);
}

void threads_may_log(void **) {
    Pipe pipe;
    std::string text;
    std::thread reader([&] { text = pipe.rest(); });
    {
        Log log(pipe.write.get(), LogLevel::info, "test");
        log.do_not_wait();
        std::thread one([&] {
            for (int i = 0; i < 500; ++i)
                log.info("one");
        });
        std::thread two([&] {
            for (int i = 0; i < 500; ++i)
                log.info("two");
        });
        one.join();
        two.join();
        log.flush();
    }
    pipe.write.reset();
    reader.join();
    assert_int_equal(std::count(text.begin(), text.end(), '\n'), 1000);
}

} // namespace

int main() {
    alarm(120); // a write that waits is a failure
    signal(SIGPIPE, SIG_IGN);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_full_pipe_stops_nobody),
        cmocka_unit_test(nothing_is_lost_at_the_end),
        cmocka_unit_test(who_leaves_waits_no_longer_than_it_must),
        cmocka_unit_test(threads_may_log),
        cmocka_unit_test(who_reads_waits_for_no_log_that_has_gone_elsewhere),
    };
    return cmocka_run_group_tests_name("log", tests, nullptr, nullptr);
}
