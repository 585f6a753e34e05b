// The supervisor of a server that says in the status page that it leaves: not a hang, but not without end either. How
// often it orders the end of the step, and what it removes. And what the page says to whoever does not trust those who
// write it.
#include "server-glue/daemon/repeated_end.h"
#include "server-glue/daemon/supervisor.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

StatusPage *make_page() {
    void *memory = mmap(nullptr, StatusPage::size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return static_cast<StatusPage *>(memory);
}

// A server that has left its loop, and ends `takes` later with this code.
pid_t leaving_server(StatusPage *page, TaskTable *table, bool orderly, std::chrono::milliseconds takes, int code) {
    pid_t server = fork();
    if (server == 0) {
        page->heartbeat.store(1);
        if (orderly)
            table->normal_exit.store(1);
        page->leaving.store(1);
        std::this_thread::sleep_for(takes);
        _exit(code);
    }
    return server;
}

struct Outcome {
    int code;
    std::string page, log;
};
Outcome outcome(bool orderly, std::chrono::milliseconds takes, std::chrono::milliseconds patience) {
    StatusPage *page = make_page();
    TaskTable *table = TaskTable::create();
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    StartDocument document;
    assert_true(document.add("host", "n1").ok());
    Outcome seen;
    {
        Log log(ends[1], LogLevel::debug, "test");
        EvidencePlace nowhere; // there is no program that would write it
        pid_t server = leaving_server(page, table, orderly, takes, 5);
        Settings settings;
        settings.daemon_hang_timeout = 200ms;
        seen.code = supervise(server, document, settings, page, *table, nowhere, log, patience);
    }
    char text[4096];
    ssize_t length = read(ends[0], text, sizeof text);
    seen.log.assign(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    close(ends[0]);
    close(ends[1]);
    seen.page = page->failure();
    munmap(page, StatusPage::size);
    return seen;
}

// The server has no heartbeat for five times as long as would be a hang.
void leaving_is_not_hanging(void **) {
    auto seen = outcome(false, 1s, 20s);
    assert_int_equal(seen.code, 1);
    assert_string_equal(seen.page.c_str(), "pmixhostd on n1 exited with status 5");
    seen = outcome(true, 1s, 20s);
    assert_int_equal(seen.code, 0);
    assert_string_equal(seen.page.c_str(), "");
    assert_string_equal(seen.log.c_str(), "");
}

void leaving_has_an_end(void **) {
    auto begin = std::chrono::steady_clock::now();
    auto seen = outcome(false, 60s, 500ms);
    assert_string_equal(seen.page.c_str(), "pmixhostd on n1 took longer than 0.5 s to leave and was killed");
    // Its step is over and well: there is nothing to be ended, but the log tells.
    seen = outcome(true, 60s, 500ms);
    assert_int_equal(seen.code, 0);
    assert_string_equal(seen.page.c_str(), "");
    assert_non_null(strstr(seen.log.c_str(), "took longer than 0.5 s to leave"));
    assert_true(std::chrono::steady_clock::now() - begin < 30s);
}

struct Ordered {
    int orders = 0, first_failures = 0;
    bool ended = false;
};
// Of an RM that fails so often.
Ordered ordered(int failures, ErrorKind how) {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    EventLoop &loop = **made;
    Ordered seen;
    auto order = [&](RepeatedEnd::Done heard) {
        bool fails = ++seen.orders <= failures;
        loop.post([fails, how, heard] { heard(fails ? error(how, "no") : Result<void>()); });
    };
    RepeatedEnd end(
        loop, order,
        [&](const Result<void> &failure) {
            assert_false(failure.ok());
            ++seen.first_failures;
        },
        [&](const Result<void> &ended) {
            seen.ended = ended.ok();
            loop.stop();
        },
        1ms);
    end.start();
    assert_true(loop.run().ok());
    return seen;
}

void an_rm_that_is_away_is_asked_until_it_is_back(void **) {
    auto seen = ordered(4, ErrorKind::unreachable);
    assert_true(seen.ended && seen.orders == 5 && seen.first_failures == 1);
    seen = ordered(0, ErrorKind::unreachable);
    assert_true(seen.ended && seen.orders == 1 && seen.first_failures == 0);
    seen = ordered(4, ErrorKind::denied);
    assert_true(!seen.ended && seen.orders == 1 && seen.first_failures == 0);
}

// Somebody writes it while it is read: nothing is looked at twice.
void a_page_that_changes_is_read_once(void **) {
#ifdef PMIXHOST_SANITIZES_THREADS
    return; // the race is what is tried
#endif
    StatusPage *page = make_page();
    (page->fail)("x"); // cmocka has a macro of this name
    page->note_directory("/tmp/pmixhost-1000.aBc");
    std::atomic<bool> over = false;
    std::thread user([&] {
        while (!over) {
            // Volatile: the compiler would leave all but the last out. Each lasts as long as an atomic store.
            volatile char *slash = page->directory + 4;
            *slash = '\0';
            page->length.store(5);
            *slash = '/';
            page->length.store(0xffff'ffff);
        }
    });
    bool bounded = true, whole = true;
    auto end = std::chrono::steady_clock::now() + 500ms;
    while (std::chrono::steady_clock::now() < end) {
        std::string why;
        try {
            why = page->failure();
        } catch (const std::exception &) { // no string is as long as that
            bounded = false;
        }
        bounded = bounded && why.size() <= sizeof page->text;
    }
    end = std::chrono::steady_clock::now() + 1s;
    while (whole && std::chrono::steady_clock::now() < end) {
        for (int i = 0; i < 1000; ++i) {
            std::string path = page->noted_directory();
            whole = whole && path.find('\0') == std::string::npos;
        }
    }
    over = true;
    user.join();
    assert_true(bounded);
    assert_true(whole);
    munmap(page, StatusPage::size);
}

void an_unterminated_directory_is_bounded(void **) {
    StatusPage *page = make_page();
    std::memset(page->directory, 'x', sizeof page->directory);
    assert_int_equal(page->noted_directory().size(), sizeof page->directory);
    page->note_directory("/a");
    assert_string_equal(page->noted_directory().c_str(), "/a");
    munmap(page, StatusPage::size);
}

void only_directories_of_pmixhostd_are_removed(void **) {
    auto left = [](const std::string &path) {
        StatusPage page{};
        page.note_directory(path);
        return page.directory_left(1000);
    };
    assert_string_equal(left("/tmp/pmixhost-1000.aBc").c_str(), "/tmp/pmixhost-1000.aBc");
    for (const char *path : {"", "/", "/home/user", "pmixhost-1000.aBc", "/tmp/pmixhost-1001.aBc",
                             "/tmp/pmixhost-1000.aBc/", "/tmp/pmixhost-1000.a/..", "/tmp/../pmixhost-1000.a"})
        assert_string_equal(left(path).c_str(), "");
    assert_string_equal(left("/" + std::string(200, 'x') + "/pmixhost-1000.a").c_str(), "");
    StatusPage hostile{};
    std::memset(hostile.directory, 'x', sizeof hostile.directory);
    assert_string_equal(hostile.directory_left(1000).c_str(), "");
}

// It was killed, or its libpmix went on making files behind its own removal.
void what_a_server_leaves_behind_goes(void **) {
    char base[] = "/tmp/pmixhost-leaving.XXXXXX";
    assert_non_null(mkdtemp(base));
    std::string left = std::string(base) + "/pmixhost-" + std::to_string(getuid()) + ".x",
                others = std::string(base) + "/other";
    StatusPage *page = make_page();
    for (const auto &path : {left, others}) {
        page->note_directory(path);
        std::filesystem::create_directories(path + "/pmix/deep");
        assert_int_equal(close(creat((path + "/pmix/file").c_str(), 0600)), 0);
        TaskTable *table = TaskTable::create();
        StartDocument document;
        Log log(2, LogLevel::error, "test");
        supervise(leaving_server(page, table, true, 0ms, 0), document, {}, page, *table, {}, log);
    }
    assert_false(std::filesystem::exists(left));
    assert_true(std::filesystem::exists(others + "/pmix/file")); // no name of a daemon's
    std::filesystem::remove_all(base);
    munmap(page, StatusPage::size);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(leaving_is_not_hanging),
        cmocka_unit_test(leaving_has_an_end),
        cmocka_unit_test(an_rm_that_is_away_is_asked_until_it_is_back),
        cmocka_unit_test(a_page_that_changes_is_read_once),
        cmocka_unit_test(an_unterminated_directory_is_bounded),
        cmocka_unit_test(only_directories_of_pmixhostd_are_removed),
        cmocka_unit_test(what_a_server_leaves_behind_goes),
    };
    return cmocka_run_group_tests_name("leaving", tests, nullptr, nullptr);
}
