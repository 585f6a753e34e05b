// The task door: whoever says nothing keeps no task out, strangers fill no log, and the process that asked is
// known by more than its pid.
#include "server-glue/tasks/task_door.h"

#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop;
    UniqueFd log_read, log_write;
    std::unique_ptr<Log> log;
    sockaddr_un address{};
    socklen_t length = sizeof address;
    std::vector<UniqueFd> knocked; // pidfds
    int unread = -1;               // of the last one
    std::unique_ptr<TaskDoor> door;

    explicit World(uid_t uid = geteuid()) {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made);
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        log_read.reset(ends[0]);
        log_write.reset(ends[1]);
        log = std::make_unique<Log>(log_write.get(), LogLevel::warning, "test");
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        address.sun_family = AF_UNIX; // the kernel picks an abstract name
        assert_int_equal(::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(sa_family_t)), 0);
        assert_int_equal(::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &length), 0);
        assert_int_equal(::listen(fd.get(), 4096), 0);
        door = std::make_unique<TaskDoor>(*loop, *log, std::move(fd), uid, [this](TaskDoor::Knock knock) {
            unread = knock.unread;
            knocked.push_back(knock.pidfd ? std::move(*knock.pidfd) : UniqueFd());
            knock.answer(std::vector<std::string>{"A=1"});
        });
    }
    static pid_t process_of(int pidfd) {
        std::string path = "/proc/self/fdinfo/" + std::to_string(pidfd);
        UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        char text[1024] = "";
        assert_true(::read(fd.get(), text, sizeof text - 1) > 0);
        const char *line = std::strstr(text, "Pid:");
        assert_non_null(line);
        return std::atoi(line + 4);
    }
    UniqueFd visitor() const {
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        assert_int_equal(::connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), length), 0);
        return fd;
    }
    static void ask(int fd) { assert_int_equal(::send(fd, "PMH2\0\0\0\7\0\0\0\4", 12, MSG_NOSIGNAL), 12); }
    void run_for(Duration duration) {
        auto limit = loop->after(duration, [this] { loop->stop(); });
        assert_true(loop->run().ok());
    }
    bool run_until_knock(Duration limit) {
        for (auto end = loop->now() + limit; knocked.empty() && loop->now() < end;)
            run_for(5ms);
        return !knocked.empty();
    }
};

int open_descriptors() {
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (readdir(list))
        ++count;
    closedir(list);
    return count;
}

// A process that holds so many connections and says nothing until it is ended.
pid_t silent_visitors(const World &world, int count) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < count; ++i)
            (void)world.visitor().release();
        (void)!::write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}

void silent_visitors_keep_no_task_out(void **) {
    World world;
    pid_t flood = silent_visitors(world, 600);
    UniqueFd task = world.visitor();
    World::ask(task.get());
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    // With fewer descriptors than the door would hold of them, too.
    rlimit few{static_cast<rlim_t>(UniqueFd(dup(0)).get() + 20), before.rlim_max};
#ifndef PMIXHOST_SANITIZES_ADDRESSES // the sanitizers need descriptors themselves, to look at memory
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
#else
    (void)few;
#endif
    bool heard = world.run_until_knock(5s);
    setrlimit(RLIMIT_NOFILE, &before);
    end(flood);
    assert_true(heard);
    assert_int_equal(World::process_of(world.knocked[0].get()), getpid());
    assert_int_equal(world.unread, 4);
    char reply[4];
    assert_int_equal(::recv(task.get(), reply, sizeof reply, 0), 4);
    assert_memory_equal(reply, "PMH2", 4);
}

void few_silent_ones_are_held(void **) {
    World world;
    pid_t flood = silent_visitors(world, 600);
    int before = open_descriptors();
    world.run_for(200ms);
    int held = open_descriptors() - before;
    end(flood);
    assert_true(held >= 16 && held <= 40);
}

void strangers_fill_no_log(void **) {
    World world(geteuid() + 1);
    for (int i = 0; i < 200; ++i)
        (void)world.visitor();
    world.run_for(200ms);
    std::string lines(1 << 16, '\0');
    ssize_t n = ::read(world.log_read.get(), lines.data(), lines.size());
    assert_true(n > 0);
    lines.resize(static_cast<std::size_t>(n));
    assert_int_equal(std::count(lines.begin(), lines.end(), '\n'), 5);
    std::string wanted = "process " + std::to_string(getpid()) + " of uid " + std::to_string(geteuid());
    assert_non_null(strstr(lines.c_str(), wanted.c_str()));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(silent_visitors_keep_no_task_out),
        cmocka_unit_test(few_silent_ones_are_held),
        cmocka_unit_test(strangers_fill_no_log),
    };
    return cmocka_run_group_tests_name("task door", tests, nullptr, nullptr);
}
