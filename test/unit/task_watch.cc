// The watch over tasks: their end is heard of, and seen even before it is reported.
#include "server-glue/tasks/task_watch.h"
#include "common/peer/peer_process.h"

#include <csignal>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop;
    std::vector<Rank> ended;
    std::optional<int> status; // of the last one
    std::unique_ptr<TaskWatch> watch;
    World() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made);
        watch = std::make_unique<TaskWatch>(*loop, [this](Rank rank, std::optional<int> wait_status) {
            ended.push_back(rank);
            status = wait_status;
            loop->stop();
        });
    }
};

// A child that has said that it runs `body`, which must not return.
pid_t child(void (*body)(int ready)) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        body(ready[1]);
        _exit(1);
    }
    close(ready[1]); // or a child that dies would be waited for
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

void wait_for_end(pid_t pid) {
    siginfo_t info;
    assert_int_equal(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

void rest(int ready) {
    (void)!write(ready, "x", 1);
    for (;;)
        pause();
}

void an_end_is_seen_before_it_is_reported(void **) {
    World world;
    pid_t pid = child(rest);
    assert_true(world.watch->add(3, pid).ok());
    assert_false(world.watch->ending(3));
    assert_false(world.watch->ending(4));
    kill(pid, SIGKILL);
    wait_for_end(pid);
    assert_true(world.watch->ending(3)); // the loop has not run yet
    assert_true(world.watch->has(3));
    auto limit = world.loop->after(10s, [&] { world.loop->stop(); });
    assert_true(world.loop->run().ok());
    assert_int_equal(world.ended.size(), 1);
    assert_false(world.watch->has(3));
    assert_true(world.status.has_value()); // it is not reaped yet
    assert_true(WIFSIGNALED(*world.status) && WTERMSIG(*world.status) == SIGKILL);
    waitpid(pid, nullptr, 0);
}

// Who asks at each fence looks at a task only when a connection has been closed since it was seen alive.
void a_task_is_looked_at_again_only_when_a_connection_was_closed(void **) {
    World world;
    pid_t pid = child(rest);
    assert_true(world.watch->add(3, pid).ok());
    assert_false(world.watch->ending(3, 7));
    assert_false(world.watch->ending(4, 7));
    kill(pid, SIGKILL);
    wait_for_end(pid);
    assert_false(world.watch->ending(3, 7));           // it was alive then, and nothing says that it may not be
    assert_true(world.watch->ending(3, std::nullopt)); // unknown
    assert_true(world.watch->ending(3, 8));
    assert_true(world.watch->ending(3, 8)); // what ends is not remembered as alive
    waitpid(pid, nullptr, 0);
}

struct Leader {
    pthread_t thread;
    int ready;
};
void *outlive(void *data) {
    auto *leader = static_cast<Leader *>(data);
    pthread_join(leader->thread, nullptr);
    rest(leader->ready);
    return nullptr;
}

[[maybe_unused]] void threads_may_outlive_the_first(void **) {
    World world;
    pid_t pid = child([](int ready) {
        static Leader leader;
        leader = {pthread_self(), ready};
        pthread_t other;
        pthread_create(&other, nullptr, outlive, &leader);
        pthread_exit(nullptr);
    });
    assert_true(world.watch->add(0, pid).ok());
    assert_false(world.watch->ending(0));
    kill(pid, SIGKILL);
    wait_for_end(pid);
    assert_true(world.watch->ending(0));
    waitpid(pid, nullptr, 0);
}

// A socket whose other end a process made that has ended and been waited for. Another one has its pid now,
// if this kernel and user may choose pids; 0 if not.
struct Reused {
    UniqueFd connection;
    pid_t dead = 0, other = 0;
    Reused() {
        UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr address{AF_UNIX, {}};
        sockaddr_storage name{};
        socklen_t length = sizeof name;
        assert_int_equal(::bind(listener.get(), &address, sizeof(sa_family_t)), 0);
        assert_int_equal(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&name), &length), 0);
        assert_int_equal(::listen(listener.get(), 1), 0);
        dead = fork();
        if (dead == 0) {
            int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
            _exit(::connect(fd, reinterpret_cast<sockaddr *>(&name), length));
        }
        connection.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        int status = 1;
        assert_int_equal(waitpid(dead, &status, 0), dead);
        assert_int_equal(status, 0);
        clone_args args{};
        args.exit_signal = SIGCHLD;
        args.set_tid = reinterpret_cast<std::uint64_t>(&dead);
        args.set_tid_size = 1;
        other = static_cast<pid_t>(syscall(SYS_clone3, &args, sizeof args));
        if (other == 0) {
            for (;;)
                pause();
        }
        if (other < 0)
            other = 0;
    }
    ~Reused() {
        if (other > 0) {
            kill(other, SIGKILL);
            waitpid(other, nullptr, 0);
        }
    }
};

void the_next_process_with_the_same_pid_is_another_one(void **) {
    Reused reused;
    if (reused.other == 0)
        skip();
    assert_int_equal(reused.other, reused.dead);
    for (auto lookup : {PeerLookup::by_kernel, PeerLookup::by_pid}) {
        World world;
        auto added = world.watch->add(0, reused.dead, peer_pidfd(reused.connection.get(), reused.dead, lookup));
        assert_false(added.ok());
        assert_true(added.failure().kind == ErrorKind::not_found);
    }
}

void a_peer_that_lives_is_found(void **) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    UniqueFd ours(ends[0]), its(ends[1]);
    for (auto lookup : {PeerLookup::by_kernel, PeerLookup::by_pid}) {
        World world;
        assert_true(world.watch->add(0, getpid(), peer_pidfd(ours.get(), getpid(), lookup)).ok());
    }
    its.reset();
    auto closed = peer_pidfd(ours.get(), getpid(), PeerLookup::by_pid);
    assert_true(!closed && closed.failure().kind == ErrorKind::not_found);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_seen_before_it_is_reported),
        cmocka_unit_test(a_task_is_looked_at_again_only_when_a_connection_was_closed),
        cmocka_unit_test(the_next_process_with_the_same_pid_is_another_one),
        cmocka_unit_test(a_peer_that_lives_is_found),
#ifndef PMIXHOST_SANITIZES_THREADS // whose runtime does not know a process whose first thread has ended
        cmocka_unit_test(threads_may_outlive_the_first),
#endif
    };
    return cmocka_run_group_tests_name("task watch", tests, nullptr, nullptr);
}
