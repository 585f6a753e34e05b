// The local backend of one virtual host, between a daemon and a `pmixhost run` that are the test's: which tasks are
// started, where their streams lead, and what is done about what they leave behind.
#include "common/base/fd_pair.h"
#include "common/local/local_control.h"
#include "common/process/child_sweep.h"
#include "common/process/sweep.h"
#include "server-glue/rm/rm_backend.h"

#include "test/unit/run_until.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pmixhost;
using namespace pmixhost::local;
using namespace std::chrono_literals;

extern "C" const BackendModule pmixhost_backend;

namespace {

// A daemon that gives each task its environment when the test says so.
struct Daemon final : BackendListener {
    std::map<Rank, std::function<void(Result<std::vector<std::string>>)>> asked;
    std::map<Rank, pid_t> started;
    std::map<Rank, int> ended; // wait statuses
    std::map<Rank, TaskDescriptors> streams;
    bool captures = false;
    std::optional<std::string> gone;

    void on_contact(std::string) override {}
    void on_rm_gone(std::string why) override { gone = std::move(why); }
    void want_environment(Rank rank, std::function<void(Result<std::vector<std::string>>)> done) override {
        asked[rank] = std::move(done);
    }
    void on_task_started(Rank rank, pid_t pid) override { started[rank] = pid; }
    void on_task_ended(Rank rank, int wait_status) override { ended[rank] = wait_status; }
    bool wants_streams() const override { return captures; }
    void take_streams(Rank rank, TaskDescriptors taken) override { streams[rank] = std::move(taken); }
    void on_exec_report(Rank, ExecWords) override {}
    void on_daemon_left(HostIndex) override {}

    void give_environment(Rank rank) { asked.at(rank)(std::vector<std::string>{"PATH=/usr/bin:/bin"}); }
};

// A descriptor that the start document can name: not one of 0 to 2.
int inherited(UniqueFd fd) {
    int number = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
    assert_true(number >= 3);
    return number;
}

std::string all_of(const UniqueFd &fd) {
    std::string text;
    char buffer[256];
    for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    return text;
}

// Two tasks of a host that does all of a job; rank 0 has an input.
struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    Settings settings;
    StartDocument document;
    Daemon daemon;
    UniqueFd in;                  // to rank 0
    std::map<Rank, UniqueFd> out; // of each
    std::optional<ControlChannel> run;
    std::unique_ptr<RmBackend> backend;

    explicit World(const std::string &script, bool captures = false) {
        daemon.captures = captures;
        int pair[2];
        assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        run.emplace(*loop, UniqueFd(pair[0]), ControlChannel::Events{[](ControlMessage) {}, [](std::string) {}});
        std::vector<std::pair<std::string, std::string>> lines{
            {"backend", "local"},
            {"host", "a"},
            {"directory", "/tmp/x"},
            {"local.nspace", "local.1.2"},
            {"local.secret", std::string(64, 'a')},
            {"local.control_fd", std::to_string(inherited(UniqueFd(pair[1])))},
            {"local.cwd", "/"},
            {"local.map_by", "slot"},
            {"local.host_name", "a"},
            {"local.ranks", "0,1"},
            {"local.app_ranks", "0 0,1"},
            {"local.app_arg", "0 sh"},
            {"local.app_arg", "0 -c"},
            {"local.app_arg", "0 " + script},
        };
        for (Rank rank : {0, 1}) {
            std::string fds = "-1";
            if (rank == 0) {
                int ends[2];
                assert_int_equal(::pipe2(ends, O_CLOEXEC), 0);
                in.reset(ends[1]);
                fds = std::to_string(inherited(UniqueFd(ends[0])));
            }
            int ends[2];
            assert_int_equal(::pipe2(ends, O_CLOEXEC), 0);
            out[rank].reset(ends[0]);
            UniqueFd theirs(ends[1]);
            int other = inherited(UniqueFd(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 3)));
            fds += fmt::format(" {} {}", inherited(std::move(theirs)), other);
            lines.emplace_back("local.task", fmt::format("{} 0 {}", rank, fds));
        }
        for (const auto &[key, value] : lines)
            assert_true(document.add(key, value).ok());
        auto made = pmixhost_backend.create({*loop, log, document, settings});
        if (!made)
            fail_msg("%s", made.failure().text.c_str());
        backend = std::move(*made);
        assert_true(backend->start(daemon).ok());
        assert_int_equal(daemon.asked.size(), 2);
    }
    ~World() { backend->stop(); }

    void run_until(const std::function<bool()> &done) { pmixhost::run_until(*loop, done); }
};

// What it means to a program to be signalled is the program's: only who orders an end says that there is one.
void test_a_signal_is_no_end_of_who_has_not_begun(void **) {
    for (int number : {SIGHUP, SIGTERM, SIGINT}) {
        World world("exit 3");
        world.run->send(SignalTasks{static_cast<std::uint32_t>(number), {}, 0});
        world.run->send(SignalTasks{SIGCONT, {}, 0});
        world.daemon.give_environment(0);
        world.run_until([&] { return world.daemon.ended.contains(0); });
        world.daemon.give_environment(1); // by now the signals have been heard
        world.run_until([&] { return world.daemon.ended.contains(1); });
        assert_int_equal(world.daemon.started.size(), 2);
        assert_int_equal(WEXITSTATUS(world.daemon.ended[1]), 3);
    }
}

void test_an_end_is_one_for_who_has_not_begun(void **) {
    World world("exec sleep 1000");
    world.daemon.give_environment(0);
    world.run_until([&] { return world.daemon.started.contains(0); });
    world.run->send(SignalTasks{SIGHUP, {}, 1});
    world.run_until([&] { return world.daemon.ended.contains(0); });
    world.daemon.give_environment(1);
    assert_int_equal(world.daemon.ended.at(1), SIGHUP);
    assert_false(world.daemon.started.contains(1));
}

void test_streams_are_the_tasks_own(void **) {
    World world("cat; echo said");
    for (Rank rank : {0, 1})
        world.daemon.give_environment(rank);
    world.in.reset();
    world.run_until([&] { return world.daemon.ended.size() == 2; });
    assert_true(world.daemon.streams.empty());
    for (Rank rank : {0, 1})
        assert_string_equal(all_of(world.out[rank]).c_str(), "said\n");
}

void test_a_daemon_that_wants_them_stands_between(void **) {
    World world("cat; echo said; echo aside >&2", true);
    for (Rank rank : {0, 1})
        world.daemon.give_environment(rank);
    TaskDescriptors &first = world.daemon.streams.at(0), &second = world.daemon.streams.at(1);
    // Its input is the daemon's to give, and what `pmixhost run` gives is the daemon's to read.
    assert_int_equal(::write(world.in.get(), "typed", 5), 5);
    char typed[5];
    assert_int_equal(::read(first.in.rms.get(), typed, sizeof typed), 5);
    assert_int_equal(::write(first.in.ours.get(), "pushed\n", 7), 7);
    first.in.ours.reset();
    assert_true(!second.in.ours); // there is nobody whom it comes from
    world.run_until([&] { return world.daemon.ended.size() == 2; });
    assert_string_equal(all_of(first.out.ours).c_str(), "pushed\nsaid\n");
    assert_string_equal(all_of(second.out.ours).c_str(), "said\n");
    assert_string_equal(all_of(second.err.ours).c_str(), "aside\n");
    // And its output is passed on where it went.
    assert_int_equal(::write(first.out.rms.get(), "passed on", 9), 9);
    first.out.rms.reset();
    first.err.rms.reset();
    assert_string_equal(all_of(world.out[0]).c_str(), "passed on");
}

void test_streams_of_who_never_begins_end(void **) {
    World world("exit 0", true);
    world.daemon.asked.at(0)(error(ErrorKind::system, "no environment"));
    assert_true(world.daemon.ended.contains(0));
    assert_string_equal(all_of(world.daemon.streams.at(0).out.ours).c_str(), "");
}

void test_what_tasks_leave_behind_is_ended(void **) {
    World world("setsid sleep 1000 & (setsid sleep 1000 &); exit 0");
    for (Rank rank : {0, 1})
        world.daemon.give_environment(rank);
    world.run_until([&] { return world.daemon.ended.size() == 2; });
    world.run_until([] { return children_of_this_process().empty(); });
}

void test_the_end_of_the_run_waits_for_what_is_left(void **) {
    World world("setsid sleep 1000 & exit 0");
    for (Rank rank : {0, 1})
        world.daemon.give_environment(rank);
    world.run_until([&] { return world.daemon.ended.size() == 2; });
    world.run->send(Terminate{});
    world.run_until([&] { return world.daemon.gone.has_value(); });
    assert_true(children_of_this_process().empty());
}

// --- the sweep by itself ----------------------------------------------------------------------------

pid_t start_child(const char *script) {
    pid_t pid = ::fork();
    if (pid == 0) {
        ::setpgid(0, 0);
        ::execl("/bin/sh", "sh", "-c", script, nullptr);
        ::_exit(127);
    }
    assert_true(pid > 0);
    ::setpgid(pid, pid);
    return pid;
}

void test_a_sweep_lets_the_loop_go_round(void **) {
    auto loop = make_loop();
    start_child("setsid sleep 1000 & (setsid sleep 1000 &); exec sleep 1000");
    ChildSweep sweep(*loop);
    std::optional<std::vector<pid_t>> left;
    sweep.start(10s, [&](std::vector<pid_t> pids) { left = std::move(pids); });
    assert_true(sweep.is_under_way());
    assert_false(children_of_this_process().empty()); // nothing is done in the call
    run_until(*loop, [&] { return left.has_value(); });
    assert_true(left->empty());
    assert_false(sweep.is_under_way());
    assert_true(children_of_this_process().empty());
}

void test_a_sweep_spares_and_stops(void **) {
    auto loop = make_loop();
    pid_t spared = start_child("exec sleep 1000");
    start_child("exec sleep 1000");
    ChildSweep sweep(*loop);
    int calls = 0;
    sweep.start(
        10s, [&](std::vector<pid_t>) { ++calls; }, [spared](pid_t pid) { return pid == spared; });
    run_until(*loop, [&] { return calls == 1; });
    assert_true(children_of_this_process() == std::vector<pid_t>{spared});
    sweep.start(10s, [&](std::vector<pid_t>) { ++calls; });
    sweep.stop();
    assert_false(sweep.is_under_way());
    bool later = false;
    auto timer = loop->after(100ms, [&] { later = true; });
    run_until(*loop, [&] { return later; });
    assert_int_equal(calls, 1);
    assert_int_equal(::kill(spared, SIGKILL), 0);
    assert_int_equal(::waitpid(spared, nullptr, 0), spared);
}

// A child that is killed and does not go, since another process traces it and does not wait for it.
class Traced {
  public:
    Traced() {
        auto ready = make_pipe(), seized = make_pipe();
        assert_true(ready.ok() && seized.ok());
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // where only ancestors may
            if (::write(ready->second.get(), "r", 1) == 1)
                for (;;)
                    ::pause();
            ::_exit(1);
        }
        char byte;
        assert_int_equal(::read(ready->first.get(), &byte, 1), 1);
        auto over = make_pipe();
        assert_true(over.ok());
        tracer_ = ::fork();
        if (tracer_ == 0) {
            over->second.reset();
            char said = ::ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) == 0 ? 'y' : 'n';
            if (::write(seized->second.get(), &said, 1) == 1)
                ::_exit(static_cast<int>(::read(over->first.get(), &said, 1)));
            ::_exit(1);
        }
        assert_int_equal(::read(seized->first.get(), &byte, 1), 1);
        is_traced_ = byte == 'y';
        over_ = std::move(over->second);
    }
    ~Traced() {
        over_.reset();
        ::waitpid(tracer_, nullptr, 0);
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    explicit operator bool() const { return is_traced_; }
    pid_t pid() const { return pid_; }
    pid_t tracer() const { return tracer_; }
    void let_go() {
        over_.reset();
        ::waitpid(tracer_, nullptr, 0);
    }

  private:
    pid_t pid_ = -1, tracer_ = -1;
    bool is_traced_ = false;
    UniqueFd over_;
};

// A sweep, of whose children one is traced by another.
struct TracedSweep {
    std::unique_ptr<EventLoop> loop = make_loop();
    Traced traced;
    ChildSweep sweep{*loop};
    std::optional<std::vector<pid_t>> left; // when it is over
    int looks = 0;                          // at the traced one

    void start(Duration patience) {
        sweep.start(
            patience, [this](std::vector<pid_t> pids) { left = std::move(pids); },
            [this](pid_t pid) {
                looks += pid == traced.pid();
                return pid == traced.tracer();
            });
    }
    void await_end() {
        run_until(*loop, [this] { return left.has_value(); });
    }
};

void test_a_sweep_has_patience_with_who_is_traced(void **) {
    TracedSweep one;
    if (!one.traced)
        skip();
    one.start(1s);
    one.await_end();
    assert_true(*one.left == std::vector<pid_t>{one.traced.pid()});
    print_message("# looked %d times\n", one.looks);
    assert_true(one.looks < 40);
}

void test_a_sweep_goes_on_when_the_tracer_lets_go(void **) {
    TracedSweep one;
    if (!one.traced)
        skip();
    one.start(60s);
    run_until(*one.loop, [&] { return one.looks > 2; });
    one.traced.let_go();
    one.await_end();
    assert_true(one.left->empty());
}

void test_who_does_not_end_holds_up_no_other(void **) {
    auto loop = make_loop();
    Traced traced;
    if (!traced)
        skip();
    int begun[2];
    assert_int_equal(::pipe(begun), 0);
    // Each of them is this process's child only when the one before has ended.
    std::string script = fmt::format(
        "sh -c 'sh -c \"echo >/proc/self/fd/{}; exec sleep 1000\" & exec sleep 1000' & exec sleep 1000", begun[1]);
    start_child(script.c_str());
    UniqueFd reader(begun[0]), writer(begun[1]);
    char byte;
    assert_int_equal(::read(reader.get(), &byte, 1), 1);
    ChildSweep sweep(*loop);
    bool is_over = false;
    sweep.start(
        60s, [&](std::vector<pid_t>) { is_over = true; }, [&](pid_t pid) { return pid == traced.tracer(); });
    run_until(*loop, [&] { return children_of_this_process().size() == 2; });
    assert_false(is_over);
    assert_true(sweep.is_under_way());
}

} // namespace

int main() {
    ::signal(SIGPIPE, SIG_IGN);
    adopt_orphans();
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signal_is_no_end_of_who_has_not_begun),
        cmocka_unit_test(test_an_end_is_one_for_who_has_not_begun),
        cmocka_unit_test(test_streams_are_the_tasks_own),
        cmocka_unit_test(test_a_daemon_that_wants_them_stands_between),
        cmocka_unit_test(test_streams_of_who_never_begins_end),
        cmocka_unit_test(test_what_tasks_leave_behind_is_ended),
        cmocka_unit_test(test_the_end_of_the_run_waits_for_what_is_left),
        cmocka_unit_test(test_a_sweep_lets_the_loop_go_round),
        cmocka_unit_test(test_a_sweep_spares_and_stops),
        cmocka_unit_test(test_a_sweep_has_patience_with_who_is_traced),
        cmocka_unit_test(test_a_sweep_goes_on_when_the_tracer_lets_go),
        cmocka_unit_test(test_who_does_not_end_holds_up_no_other),
    };
    return cmocka_run_group_tests_name("local_backend", tests, nullptr, nullptr);
}
