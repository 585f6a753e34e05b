// Debuggers that are killed, and those whom they have left stopped: at the door of a job's daemon.
#include "server-glue/debug/debugger_door.h"

#include "common/process/process_stat.h"
#include "common/process/process_status.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;

namespace {

char state_of(pid_t pid) {
    auto stat = read_process_stat(pid);
    return stat ? stat->state : '-';
}

bool comes_to(pid_t pid, char state) {
    for (auto until = Clock::now() + std::chrono::seconds(20); state_of(pid) != state; ::poll(nullptr, 0, 1)) {
        if (Clock::now() >= until)
            return false;
    }
    return true;
}

struct Child {
    pid_t pid;
    explicit Child(const std::function<void()> &act) : pid(fork()) {
        if (pid != 0)
            return;
        prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails drops nothing
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        act();
        for (;;)
            pause();
    }
    Child(const Child &) = delete;
    ~Child() { end(); }
    void end() {
        if (pid <= 0)
            return;
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        pid = -1;
    }
    HeldProcess held() const { return {pid, read_process_stat(pid)->began}; }
};

// A process as a debugger leaves it that is killed when it has not yet taken notice of the stop that it has asked for.
struct LeftStanding : Child {
    LeftStanding() : Child([] {}) {
        assert_true(comes_to(pid, 'S'));
        kill(pid, SIGSTOP);
        assert_true(comes_to(pid, 'T'));
    }
};

struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    char directory[32] = "/tmp/pmixhost-unit-XXXXXX";
    std::set<pid_t> paused; // by tools
    std::unique_ptr<DebuggerDoor> door;

    explicit World(std::size_t most = DebuggerDoor::most_descriptors) {
        assert_non_null(mkdtemp(directory));
        auto opened = DebuggerDoor::open(
            *loop, log, directory, [this](pid_t pid) { return paused.contains(pid); }, most);
        assert_true(opened.ok());
        door = std::move(*opened);
    }
    ~World() {
        door.reset();
        std::filesystem::remove_all(directory);
    }
    // Somebody who has said this; his end is that of what is returned.
    UniqueFd says(const std::vector<std::string> &words) const {
        auto fd = knock_at_debugger_door(directory);
        assert_true(fd.ok());
        for (const auto &word : words)
            assert_int_equal(send(fd->get(), word.data(), word.size(), MSG_NOSIGNAL),
                             static_cast<ssize_t>(word.size()));
        return std::move(*fd);
    }
    void has_descriptors(std::size_t count) {
        run_until(*loop, [&] { return door->descriptors() == count; });
    }
    void settles() {
        run_until(*loop, [this] { return !door->has_debuggers(); });
    }
    // Somebody else comes and is dealt with, so that what was said before has been.
    void deals_with_another() {
        LeftStanding other;
        says({hold_word(other.held())}).reset();
        run_until(*loop, [&] { return state_of(other.pid) == 'S'; });
    }
};

void who_was_left_stopped_runs_on(void **) {
    World world;
    LeftStanding one, other;
    UniqueFd debugger = world.says({hold_word(one.held()), hold_word(other.held())});
    world.deals_with_another();
    assert_true(state_of(one.pid) == 'T' && state_of(other.pid) == 'T'); // as long as it is there
    debugger.reset();
    world.settles();
    assert_true(state_of(one.pid) == 'S' && state_of(other.pid) == 'S');
}

// It has said so, and is gone before the daemon has come to accept it.
void what_was_said_counts_behind_its_end(void **) {
    World world;
    LeftStanding one;
    world.says({hold_word(one.held())}).reset();
    run_until(*world.loop, [&] { return state_of(one.pid) == 'S'; });
    world.settles();
}

void whom_a_debugger_has_let_go_stays_as_it_is(void **) {
    World world;
    LeftStanding one;
    world.says({hold_word(one.held()), std::string(over_word)}).reset();
    world.deals_with_another();
    world.settles();
    assert_int_equal(state_of(one.pid), 'T');
}

// One whose pid was another one's before, and what is no word of ours.
void another_process_of_that_pid_is_left_alone(void **) {
    World world;
    LeftStanding one;
    HeldProcess earlier = one.held();
    --earlier.began;
    world.says({hold_word(earlier)}).reset();
    UniqueFd talks = world.says({"holds 1 0"}), goes_on = world.says({std::string(longest_debugger_word + 9, 'x')});
    world.deals_with_another();
    world.settles(); // they are turned out
    assert_int_equal(state_of(one.pid), 'T');
    for (const char *word : {"", "holds", "holds ", "holds 12", "holds 12 ", "holds 12 7 7", "holds -4 7", "over "})
        assert_false(parse_hold_word(word).ok());
    auto process = parse_hold_word(hold_word({12, 7}));
    assert_true(process && process->pid == 12 && process->began == 7);
}

// What the kernel says to one child that is to trace another one: 0, or errno.
int tracing_fails_with() {
    Child rank([] {});
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(comes_to(rank.pid, 'S'));
    Child gdb([&] {
        int failed = ptrace(PTRACE_ATTACH, rank.pid, nullptr, nullptr) == 0 ? 0 : errno;
        (void)!write(ends[1], &failed, sizeof failed);
    });
    close(ends[1]);
    int failed = 0;
    assert_int_equal(read(ends[0], &failed, sizeof failed), sizeof failed);
    close(ends[0]);
    return failed;
}

// The debugger is killed with its stop under way, a little later than who has started it.
void who_is_still_traced_runs_on_when_that_ends(void **) {
    int failed = tracing_fails_with();
    if (failed == EPERM)
        skip(); // nobody may trace here
    assert_int_equal(failed, 0);
    World world;
    Child rank([] {});
    assert_true(comes_to(rank.pid, 'S'));
    HeldProcess held = rank.held();
    Child gdb([&] { ptrace(PTRACE_ATTACH, rank.pid, nullptr, nullptr); });
    assert_true(comes_to(rank.pid, 't'));
    world.says({hold_word(held)}).reset();
    world.deals_with_another();
    assert_true(world.door->has_debuggers() && tracer_of(rank.pid) == gdb.pid);
    gdb.end();
    world.settles();
    assert_int_equal(state_of(rank.pid), 'S');
    assert_int_equal(tracer_of(rank.pid), 0);
}

void who_has_ended_is_not_waited_for(void **) {
    World world;
    LeftStanding one;
    UniqueFd debugger = world.says({hold_word(one.held())});
    world.deals_with_another();
    one.end();
    debugger.reset();
    world.settles();
}

// More than there is room for is not heard of, and those that there was room for are held as before.
void what_is_held_is_bounded(void **) {
    World world(3); // the connection, and two
    LeftStanding one, other, beyond;
    UniqueFd debugger = world.says({hold_word(one.held()), hold_word(one.held()), hold_word(one.held()),
                                    hold_word(other.held()), hold_word(beyond.held())});
    world.has_descriptors(3);
    assert_true(state_of(one.pid) == 'T' && state_of(other.pid) == 'T');
    UniqueFd too_many = world.says({}); // is turned out
    char none = 0;
    run_until(*world.loop, [&] { return recv(too_many.get(), &none, 1, MSG_DONTWAIT) == 0; });
    assert_int_equal(world.door->descriptors(), 3);
    debugger.reset();
    world.settles();
    assert_true(state_of(one.pid) == 'S' && state_of(other.pid) == 'S');
    assert_int_equal(state_of(beyond.pid), 'T');
}

void who_has_ended_makes_room(void **) {
    World world(3);
    LeftStanding one, other, later;
    UniqueFd debugger = world.says({hold_word(one.held()), hold_word(other.held())});
    world.has_descriptors(3);
    one.end();
    std::string word = hold_word(later.held());
    assert_int_equal(send(debugger.get(), word.data(), word.size(), 0), static_cast<ssize_t>(word.size()));
    debugger.reset();
    world.settles();
    assert_true(state_of(other.pid) == 'S' && state_of(later.pid) == 'S');
}

void whom_a_tool_has_paused_stays(void **) {
    World world;
    LeftStanding one, other;
    world.paused = {one.pid};
    UniqueFd debugger = world.says({hold_word(one.held()), hold_word(other.held())});
    world.has_descriptors(3);
    debugger.reset();
    world.settles();
    assert_int_equal(state_of(one.pid), 'T');
    assert_int_equal(state_of(other.pid), 'S');
}

// Its threads are more than are looked at in a turn.
void others_wait_for_no_process_with_many_threads(void **) {
    World world;
    Child many([] {
        for (int i = 0; i < 300; ++i)
            std::thread([] {
                for (;;)
                    pause();
            }).detach();
    });
    auto threads = [&] { return status_value(many.pid, "Threads"); };
    for (auto until = Clock::now() + std::chrono::seconds(20); std::stoul(threads()) < 301; ::poll(nullptr, 0, 1))
        assert_true(Clock::now() < until);
    std::size_t some = 100, enough = 400;
    assert_false(is_to_stop(many.pid, some));
    assert_false(is_to_stop(many.pid, enough));
    assert_true(some == 0 && enough <= 99 && enough > 90); // a sanitizer has threads, too
    kill(many.pid, SIGSTOP);
    assert_true(comes_to(many.pid, 'T'));
    LeftStanding other;
    UniqueFd debugger = world.says({hold_word(many.held()), hold_word(other.held())});
    world.has_descriptors(3);
    debugger.reset();
    world.settles();
    assert_true(state_of(many.pid) == 'S' && state_of(other.pid) == 'S');
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_was_left_stopped_runs_on),
        cmocka_unit_test(what_was_said_counts_behind_its_end),
        cmocka_unit_test(whom_a_debugger_has_let_go_stays_as_it_is),
        cmocka_unit_test(another_process_of_that_pid_is_left_alone),
        cmocka_unit_test(who_is_still_traced_runs_on_when_that_ends),
        cmocka_unit_test(who_has_ended_is_not_waited_for),
        cmocka_unit_test(what_is_held_is_bounded),
        cmocka_unit_test(who_has_ended_makes_room),
        cmocka_unit_test(whom_a_tool_has_paused_stays),
        cmocka_unit_test(others_wait_for_no_process_with_many_threads),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
