// Texts by way of tasks: what comes into pipes and files that the task writes to as well, and what becomes of others
// when one hangs.
#include "server-glue/log/task_texts.h"
#include "server-glue/log/user_terminal.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

// --- one text ---------------------------------------------------------------------------------------

// This process is the task, whose standard error is `fd` meanwhile.
struct StandardError {
    int kept = dup(2);
    explicit StandardError(int fd) { dup2(fd, 2); }
    ~StandardError() {
        dup2(kept, 2);
        close(kept);
    }
};

struct Pipe {
    int ends[2] = {-1, -1};
    explicit Pipe(int size = 0) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        if (size > 0)
            assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, size), size);
    }
    ~Pipe() {
        close(ends[0]);
        close(ends[1]);
    }
    bool write(std::string_view text, Duration patience = 50ms) {
        StandardError error(ends[1]);
        return write_for(getpid(), 2, text, patience);
    }
    // So much, or what is there.
    std::string read(std::size_t size, bool waits = false) {
        std::string text(size, '\0');
        fcntl(ends[0], F_SETFL, waits ? 0 : O_NONBLOCK);
        ssize_t n = ::read(ends[0], text.data(), size);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return text;
    }
};

std::string line_of(char letter, std::size_t size) {
    return std::string(size - 1, letter) + '\n';
}

void a_full_pipe_is_not_waited_for(void **) {
    Pipe pipe(4096);
    assert_true(pipe.write(std::string(4096, 'x')));
    assert_false(pipe.write("y", 1h));
    assert_true(pipe.read(8192) == std::string(4096, 'x'));
    assert_false(write_for(0, 2, "x", 1h));
}

void lines_come_whole_where_nobody_reads_on(void **) {
    Pipe pipe(4096);
    const std::string a = line_of('a', 3000), b = line_of('b', 3000), c = line_of('c', 3000);
    assert_false(pipe.write(a + b + c));
    assert_true(pipe.read(16384) == a);
    assert_false(pipe.write(line_of('d', 5000))); // there is no room for it
    assert_true(pipe.read(16384).empty());
}

void a_slow_reader_gets_all(void **) {
    Pipe pipe(4096);
    const std::string all = line_of('a', 3000) + line_of('b', 3000) + line_of('c', 3000);
    std::string read;
    std::thread reader([&] {
        for (std::string part; !(part = pipe.read(1000, true)).empty();)
            read += part;
    });
    bool went = pipe.write(all, 20s);
    close(std::exchange(pipe.ends[1], -1));
    reader.join();
    assert_true(went);
    assert_true(read == all);
}

// What the task writes next comes behind the text, and not in its place.
// Some systems and containers refuse it.
bool open_files_can_be_taken() {
    int self = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    int taken = static_cast<int>(syscall(SYS_pidfd_getfd, self, 2, 0));
    close(self);
    return taken >= 0 && close(taken) == 0;
}

void in_a_file_nothing_is_overwritten(void **) {
    for (int flags : {0, O_APPEND}) {
        if (flags == 0 && !open_files_can_be_taken())
            continue;
        char name[] = "/tmp/pmixhost-texts.XXXXXX";
        int made = mkstemp(name), fd = open(name, O_RDWR | O_CLOEXEC | flags);
        std::string read(100, '\0');
        {
            StandardError error(fd);
            assert_int_equal(write(2, "task\n", 5), 5);
            assert_true(write_for(getpid(), 2, "host\n", 50ms));
            assert_int_equal(write(2, "task again\n", 11), 11);
        }
        read.resize(static_cast<std::size_t>(pread(made, read.data(), read.size(), 0)));
        unlink(name);
        close(made);
        close(fd);
        assert_string_equal(read.c_str(), "task\nhost\ntask again\n");
    }
}

// --- many of them -----------------------------------------------------------------------------------

constexpr pid_t hanging = 1, other = 2;

// The texts of one task hang until the gate opens.
struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    struct Places {
        std::mutex mutex;
        OneTimeGate gate;
        std::atomic<int> hang = 0;
        std::vector<std::pair<pid_t, std::string>> written;
        std::size_t size() {
            std::lock_guard lock(mutex);
            return written.size();
        }
    };
    std::shared_ptr<Places> places = std::make_shared<Places>();
    std::optional<TaskTexts> texts;
    std::vector<std::string> heard;

    explicit World(Duration patience = 20s) {
        texts.emplace(
            *loop,
            [places = places](pid_t pid, int, std::string_view text, Duration) {
                if (pid == hanging) {
                    ++places->hang;
                    places->gate.wait();
                }
                std::lock_guard lock(places->mutex);
                places->written.emplace_back(pid, text);
                return text != "refused";
            },
            patience);
    }
    void write(pid_t pid, std::vector<std::string> all, bool until_one_goes = false) {
        std::vector<TaskText> entries;
        for (auto &text : all)
            entries.push_back({2, text});
        std::string name = all.front();
        texts->write(pid, std::move(entries), until_one_goes, [this, name](const std::vector<bool> &went) {
            std::string line = name;
            for (bool each : went)
                line += each ? " went" : " not";
            heard.push_back(line);
        });
    }
    void run_until_heard(std::size_t count) {
        run_until(*loop, [&] { return heard.size() >= count; });
    }
};

void a_task_gets_its_texts_in_order(void **) {
    World world;
    world.write(hanging, {"first", "behind it"});
    for (const char *text : {"second", "third", "fourth"})
        world.write(hanging, {text});
    world.write(other, {"another's"}); // does not wait for them
    world.run_until_heard(1);
    assert_true(world.texts->any());
    world.places->gate.open();
    world.run_until_heard(5);
    assert_false(world.texts->any());
    using Written = std::vector<std::pair<pid_t, std::string>>;
    assert_true((world.places->written == Written{{other, "another's"},
                                                  {hanging, "first"},
                                                  {hanging, "behind it"},
                                                  {hanging, "second"},
                                                  {hanging, "third"},
                                                  {hanging, "fourth"}}));
    assert_true((world.heard == std::vector<std::string>{"another's went", "first went went", "second went",
                                                         "third went", "fourth went"}));
}

void the_first_that_goes_may_be_enough(void **) {
    World world;
    world.write(other, {"refused", "taken", "not tried"}, true);
    world.run_until_heard(1);
    assert_string_equal(world.heard[0].c_str(), "refused not went");
}

void a_task_whose_text_hangs_gets_no_more(void **) {
    World world(50ms);
    world.write(hanging, {"hangs"});
    world.write(hanging, {"waits"});
    world.run_until_heard(2);
    world.write(hanging, {"comes later"});
    world.run_until_heard(3);
    assert_true((world.heard == std::vector<std::string>{"hangs not", "waits not", "comes later not"}));
    world.places->gate.open();
    run_until(*world.loop, [&] { return world.places->size() == 1; });
    for (int i = 0; i < 1000 && world.heard.back() != "again went"; ++i) { // the thread may not be through with it
        world.write(hanging, {"again"});
        run_until(*world.loop, [&] { return !world.texts->any(); });
        world.run_until_heard(static_cast<std::size_t>(4 + i));
    }
    assert_string_equal(world.heard.back().c_str(), "again went");
}

// Each hangs in a thread of its own: their number is bounded, and so is the time that others wait for one.
void so_many_may_hang(void **) {
    auto loop = make_loop();
    auto gate = std::make_shared<OneTimeGate>();
    auto begun = std::make_shared<std::atomic<int>>(0);
    auto hang = [gate, begun](pid_t, int, std::string_view, Duration) {
        ++*begun;
        gate->wait();
        return true;
    };
    TaskTexts texts(*loop, hang, 50ms);
    int answered = 0;
    for (pid_t pid = 1; pid <= 100; ++pid)
        texts.say(pid, "hangs", [&] { ++answered; });
    run_until(*loop, [&] { return answered == 100; });
    assert_true(*begun <= 8);
    gate->open();
    bool goes = false;
    for (int i = 0; i < 1000 && !goes; ++i) {
        texts.write(101, {{2, "goes"}}, false, [&](const std::vector<bool> &went) { goes = went.front(); });
        run_until(*loop, [&] { return !texts.any(); });
    }
    assert_true(goes);
}

void more_than_can_wait_is_refused(void **) {
    World world;
    world.write(hanging, {"first"});
    const std::string large(TaskTexts::max_bytes / 2, 'x');
    world.write(hanging, {large});
    world.write(hanging, {large});
    assert_true(world.heard == std::vector<std::string>{large + " not"});
    world.places->gate.open();
    world.run_until_heard(3);
    assert_string_equal(world.heard[1].c_str(), "first went");
}

void who_leaves_does_not_wait_for_one_that_hangs(void **) {
    World world;
    world.write(hanging, {"first"});
    world.write(hanging, {"second"});
    run_until(*world.loop, [&] { return world.places->hang == 1; });
    world.texts.reset();
    world.places->gate.open();
    run_until(*world.loop, [&] { return world.places->size() == 1; });
    assert_true(world.heard.empty());
}

} // namespace

int main() {
    ::signal(SIGPIPE, SIG_IGN); // as in the daemon
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_full_pipe_is_not_waited_for),
        cmocka_unit_test(lines_come_whole_where_nobody_reads_on),
        cmocka_unit_test(a_slow_reader_gets_all),
        cmocka_unit_test(in_a_file_nothing_is_overwritten),
        cmocka_unit_test(a_task_gets_its_texts_in_order),
        cmocka_unit_test(the_first_that_goes_may_be_enough),
        cmocka_unit_test(a_task_whose_text_hangs_gets_no_more),
        cmocka_unit_test(so_many_may_hang),
        cmocka_unit_test(more_than_can_wait_is_refused),
        cmocka_unit_test(who_leaves_does_not_wait_for_one_that_hangs),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
