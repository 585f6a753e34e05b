// A process that stops at the first instruction of the program that it executes: by itself, and by way of the task
// door.
#include "common/process/exec_stop.h"
#include "common/base/fd_pair.h"
#include "common/process/descriptor_message.h"
#include "common/process/process_stat.h"
#include "plugins/kit/door_client.h"
#include "server-glue/debug/exec_stop_watch.h"
#include "server-glue/tasks/task_door.h"

#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/un.h>
#include <sys/wait.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<EventLoop> make_loop() {
    auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
    assert_true(made.ok());
    return std::move(*made);
}

struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    std::map<Rank, pid_t> pids;
    ExecStopWatch watch{*loop, [this](Rank rank) { return pids.contains(rank) ? pids.at(rank) : 0; }};
    std::map<Rank, bool> stands; // of those that are decided

    void await(Rank rank, UniqueFd armed) {
        watch.await(rank, std::move(armed), [this, rank](bool stopped) {
            assert_true(stands.emplace(rank, stopped).second);
            loop->stop();
        });
    }
    bool run_until_decided(std::size_t count) {
        bool late = false;
        auto limit = loop->after(20s, [&] {
            late = true;
            loop->stop();
        });
        while (stands.size() < count && !late)
            assert_true(loop->run().ok());
        return !late;
    }
};

// A process that arms itself, says so, and executes `program` when it is told to.
struct Task {
    UniqueFd channel;
    pid_t pid = -1;
    explicit Task(const char *program) {
        auto ends = make_socket_pair();
        assert_true(ends.ok());
        pid = fork();
        if (pid == 0) {
            {
                auto armed = arm_exec_stop();
                if (!armed || !send_descriptor(ends->second.get(), "s", armed->get()))
                    _exit(3);
            }
            char go = 0;
            (void)!::read(ends->second.get(), &go, 1);
            execl(program, program, nullptr);
            _exit(127);
        }
        channel = std::move(ends->first);
    }
    UniqueFd armed() const {
        auto got = receive_descriptor(channel.get(), 0);
        assert_true(got && got->has_value() && (*got)->bytes == "s" && (*got)->fd);
        return std::move((*got)->fd);
    }
    void go() const { assert_int_equal(::write(channel.get(), "g", 1), 1); }
    int end() const {
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
    }
};

void a_program_stands_at_its_first_instruction(void **) {
    for (int i = 0; i < 50; ++i) {
        World world;
        Task task("/bin/true");
        world.pids[0] = task.pid;
        world.await(0, task.armed());
        task.go();
        assert_true(world.run_until_decided(1));
        assert_true(world.stands.at(0));
        int status = 0;
        assert_int_equal(waitpid(task.pid, &status, WUNTRACED), task.pid);
        assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
        kill(task.pid, SIGCONT);
        assert_int_equal(task.end(), 0);
    }
}

// That nobody holds the descriptor any more must not be taken for a stop, and who ends is not waited for.
void who_ends_before_does_not_stand(void **) {
    World world;
    Task missing("/nothing/there"), killed("/bin/true");
    world.pids = {{0, missing.pid}, {1, killed.pid}};
    world.await(0, missing.armed());
    world.await(1, killed.armed());
    missing.go();
    kill(killed.pid, SIGKILL);
    assert_true(world.run_until_decided(2));
    assert_false(world.stands.at(0));
    assert_false(world.stands.at(1));
    assert_int_equal(WEXITSTATUS(missing.end()), 127);
    killed.end();
}

// A task may send what it likes.
void what_is_no_pipe_is_refused(void **) {
    World world;
    world.pids[0] = getpid();
    world.await(0, UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
    assert_false(world.stands.at(0));
}

// The socket of a door, and its name.
std::pair<UniqueFd, std::string> listen_for_tasks() {
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    socklen_t length = sizeof address;
    address.sun_family = AF_UNIX; // the kernel picks an abstract name
    assert_int_equal(::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof(sa_family_t)), 0);
    assert_int_equal(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length), 0);
    assert_int_equal(::listen(listener.get(), 16), 0);
    return {std::move(listener), std::string(address.sun_path, length - offsetof(sockaddr_un, sun_path))};
}

void the_door_says_whose_program_stops(void **) {
    World world;
    auto [listener, name] = listen_for_tasks();
    Log log(STDERR_FILENO, LogLevel::warning, "test");
    TaskDoor door(
        *world.loop, log, std::move(listener), geteuid(),
        [&](TaskDoor::Knock knock) {
            world.pids[knock.rank] = knock.pid;
            knock.answer(std::vector<std::string>{"A=1"});
        },
        nullptr, nullptr,
        {[](Rank rank) { return rank != 1; }, [&](Rank rank, UniqueFd armed) { world.await(rank, std::move(armed)); }});
    pid_t pids[3];
    for (Rank rank = 0; rank < 3; ++rank) {
        pids[rank] = fork();
        if (pids[rank] != 0)
            continue;
        auto environment = kit::ask_at_door(name, geteuid(), rank, 20s);
        if (!environment || *environment != std::vector<std::string>{"A=1"})
            _exit(3);
        execl("/bin/true", "true", nullptr);
        _exit(127);
    }
    assert_true(world.run_until_decided(2));
    assert_true(world.stands.at(0) && world.stands.at(2));
    for (Rank rank : {0, 2})
        kill(pids[rank], SIGCONT);
    for (pid_t pid : pids) {
        int status = 1;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

// Whether it stops or not; and one that ends without has, as far as others wait for it.
void the_door_hears_that_a_program_is_executed(void **) {
    World world;
    auto [listener, name] = listen_for_tasks();
    Log log(STDERR_FILENO, LogLevel::warning, "test");
    std::size_t answered = 0;
    std::set<Rank> executed;
    TaskDoor door(
        *world.loop, log, std::move(listener), geteuid(),
        [&](TaskDoor::Knock knock) {
            world.pids[knock.rank] = knock.pid;
            knock.answer(std::vector<std::string>{"A=1"});
        },
        nullptr, nullptr,
        {[](Rank rank) { return rank == 1; }, [&](Rank rank, UniqueFd armed) { world.await(rank, std::move(armed)); }},
        [&](Rank rank) { assert_true(executed.insert(rank).second); });
    auto ends = make_socket_pair();
    assert_true(ends.ok());
    pid_t pids[3];
    for (Rank rank = 0; rank < 3; ++rank) {
        pids[rank] = fork();
        if (pids[rank] != 0)
            continue;
        if (!kit::ask_at_door(name, geteuid(), rank, 20s))
            _exit(3);
        char go = 0;
        (void)!::write(ends->second.get(), "a", 1);
        (void)!::read(ends->second.get(), &go, 1); // as a prolog of its own would keep it
        execl(rank == 2 ? "/nothing/there" : "/bin/sleep", "sleep", "60", nullptr);
        _exit(127);
    }
    auto watch = world.loop->watch(ends->first.get(), EventLoop::readable, [&](unsigned) {
        char byte;
        answered += ::read(ends->first.get(), &byte, 1) == 1;
    });
    auto until = [&](auto done) {
        for (auto limit = world.loop->now() + 20s; !done() && world.loop->now() < limit;) {
            auto soon = world.loop->after(5ms, [&] { world.loop->stop(); });
            assert_true(world.loop->run().ok());
        }
        return done();
    };
    assert_true(until([&] { return answered == 3; }));
    assert_true(executed.empty() && door.awaits_exec_report());
    assert_int_equal(::write(ends->first.get(), "gg", 2), 2);
    assert_true(until([&] { return executed.size() == 2; }));
    assert_true(door.awaits_exec_report());
    assert_int_equal(::write(ends->first.get(), "g", 1), 1);
    assert_true(until([&] { return executed.size() == 3 && world.stands.contains(1); }));
    assert_false(door.awaits_exec_report());
    for (pid_t pid : pids) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, nullptr, 0), pid);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_program_stands_at_its_first_instruction),
        cmocka_unit_test(who_ends_before_does_not_stand),
        cmocka_unit_test(what_is_no_pipe_is_refused),
        cmocka_unit_test(the_door_says_whose_program_stops),
        cmocka_unit_test(the_door_hears_that_a_program_is_executed),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
