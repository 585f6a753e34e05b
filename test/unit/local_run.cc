// `pmixhost run` as its user sees it, with the daemon and the backend of this build: output, exit
// codes, signals, and that nothing is left behind in any ending.
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/process/process_stat.h"
#include "common/process/sweep.h"

#include "test/unit/check.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace pmixhost;

namespace {

constexpr char pmixhost_program[] = PMIXHOST_TOP_BUILDDIR "/tools/pmixhost";
constexpr int patience_ms = 30'000;

// The daemons' private directories are made here.
std::string scratch() {
    return std::getenv("PMIXHOST_TEST_SCRATCH");
}

struct Outcome {
    std::string out, err;
    int status = 0; // wait status
    int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }
};

// One run of `pmixhost run`. All of its descendants that outlive it become this process's children,
// so that a test can tell whether there are any.
class Run {
  public:
    enum class Errors { pipe, terminal }; // what its standard error is
    explicit Run(std::vector<std::string> words, std::string input = "", Errors errors = Errors::pipe) {
        int in[2], out[2], err[2];
        assert_int_equal(::pipe2(in, O_CLOEXEC) | ::pipe2(out, O_CLOEXEC), 0);
        if (errors == Errors::terminal)
            open_terminal(err);
        else
            assert_int_equal(::pipe2(err, O_CLOEXEC), 0);
        words.insert(words.begin(), {pmixhost_program, "run", "--tmpdir", scratch()});
        std::vector<char *> argv;
        for (auto &word : words)
            argv.push_back(word.data());
        argv.push_back(nullptr);
        // Not fork(): under the thread sanitizer there are two threads, and the child may want what the other one held.
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, in[0], 0);
        posix_spawn_file_actions_adddup2(&files, out[1], 1);
        posix_spawn_file_actions_adddup2(&files, err[1], 2);
        // Whoever runs this in the background has the shell ignore SIGINT, and a run would, too.
        posix_spawnattr_t defaults;
        posix_spawnattr_init(&defaults);
        sigset_t heard;
        sigemptyset(&heard);
        sigaddset(&heard, SIGINT);
        sigaddset(&heard, SIGQUIT);
        posix_spawnattr_setsigdefault(&defaults, &heard);
        posix_spawnattr_setflags(&defaults, POSIX_SPAWN_SETSIGDEF);
        assert_int_equal(::posix_spawn(&pid_, pmixhost_program, &files, &defaults, argv.data(), environ), 0);
        posix_spawnattr_destroy(&defaults);
        posix_spawn_file_actions_destroy(&files);
        ::close(in[0]);
        ::close(out[1]);
        ::close(err[1]);
        UniqueFd writer(in[1]);
        out_.reset(out[0]);
        err_.reset(err[0]);
        assert_true(input.size() <= 65536);
        assert_int_equal(::write(writer.get(), input.data(), input.size()), input.size());
    }
    ~Run() {
        if (pid_ > 0)
            ::kill(pid_, SIGKILL);
        sweep_children(std::chrono::seconds(10));
    }

    pid_t pid() const { return pid_; }
    void signal(int number) { ::kill(pid_, number); }

    // Reads until the standard output has `text`.
    void wait_for(const std::string &text) {
        while (result_.out.find(text) == std::string::npos) {
            if (!read_some())
                fail_msg("'%s' did not come, but: %s%s", text.c_str(), result_.out.c_str(), result_.err.c_str());
        }
    }
    // Reads the standard error until it has one of these beyond its first `from` bytes; the output is not read
    // meanwhile.
    void wait_for_error(const std::vector<std::string> &texts, std::size_t from = 0) {
        auto has_come = [&](const std::string &text) { return result_.err.find(text, from) != std::string::npos; };
        UniqueFd out = std::move(out_);
        while (std::none_of(texts.begin(), texts.end(), has_come)) {
            if (!read_some())
                fail_msg("'%s' did not come, but: %s", texts.front().c_str(), result_.err.c_str());
        }
        out_ = std::move(out);
    }
    const Outcome &so_far() const { return result_; }
    Outcome finish() {
        while (read_some()) {
        }
        ::waitpid(pid_, &result_.status, 0);
        pid_ = -1;
        return result_;
    }

  private:
    static void open_terminal(int ends[2]) {
        ends[0] = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(ends[0] >= 0 && ::grantpt(ends[0]) == 0 && ::unlockpt(ends[0]) == 0);
        ends[1] = ::open(::ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(ends[1] >= 0);
    }
    bool read_some() {
        pollfd ready[2] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
        if (!out_ && !err_)
            return false;
        if (::poll(ready, 2, patience_ms) == 0) {
            [[maybe_unused]] int shown = std::system("ps axfo pid,ppid,stat,wchan:20,etime,args >&2");
            fail_msg("nothing for too long from %d; so far: %s%s", pid_, result_.out.c_str(), result_.err.c_str());
        }
        auto take = [](UniqueFd &fd, const pollfd &poll, std::string &text) {
            char buffer[65536];
            if (!fd || poll.revents == 0)
                return;
            ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
            if (n > 0)
                text.append(buffer, static_cast<std::size_t>(n));
            else
                fd.reset();
        };
        take(out_, ready[0], result_.out);
        take(err_, ready[1], result_.err);
        return true;
    }
    pid_t pid_ = -1;
    UniqueFd out_, err_;
    Outcome result_;
};

Outcome run(std::vector<std::string> words, std::string input = "") {
    return Run(std::move(words), std::move(input)).finish();
}

std::vector<std::string> sorted_lines(const std::string &text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        auto end = text.find('\n', at);
        if (end == std::string::npos)
            end = text.size();
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

void expect_lines(const std::string &text, std::vector<std::string> wanted) {
    auto lines = sorted_lines(text);
    std::sort(wanted.begin(), wanted.end());
    if (lines != wanted)
        print_error("not as expected:\n%s", text.c_str());
    assert_true(lines == wanted);
}

void expect_in(const std::string &text, const std::string &part) {
    if (text.find(part) == std::string::npos)
        print_error("'%s' is not in:\n%s", part.c_str(), text.c_str());
    assert_true(text.find(part) != std::string::npos);
}

// Waits for orphans, which are ours as nobody is nearer, and kills none: they must end themselves.
void expect_nothing_left() {
    for (auto pids = children_of_this_process(); !pids.empty(); pids = children_of_this_process()) {
        UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pids.front(), 0)));
        pollfd ended{process.get(), POLLIN, 0};
        if (::poll(&ended, 1, patience_ms) != 1)
            fail_msg("process %d is left", static_cast<int>(pids.front()));
        ::waitpid(pids.front(), nullptr, 0);
    }
    for (const auto &entry : std::filesystem::directory_iterator(scratch()))
        fail_msg("%s is left", entry.path().c_str());
}

void test_output_has_labels(void **) {
    auto result = run({"-l", "-N", "2", "-n", "12", "sh", "-c", "echo out $PMIXHOST_HOST; printf tail; echo err >&2"});
    assert_int_equal(result.code(), 0);
    std::vector<std::string> out, err;
    for (int rank = 0; rank < 12; ++rank) {
        out.push_back(fmt::format("{:2}: out host{}", rank, rank / 6));
        out.push_back(fmt::format("{:2}: tail", rank));
        err.push_back(fmt::format("{:2}: err", rank));
    }
    expect_lines(result.out, out);
    expect_lines(result.err, err);
    // Without labels nothing is added.
    assert_string_equal(run({"printf", "tail"}).out.c_str(), "tail");
    expect_nothing_left();
}

void test_programs_know_their_place(void **) {
    auto result = run({"-N", "2", "-n", "2", "-m", "node", "sh", "-c",
                       "echo a $PMIXHOST_RANK/$PMIXHOST_SIZE $PMIXHOST_LOCAL_RANK/$PMIXHOST_LOCAL_SIZE "
                       "$PMIX_RANK $PMIX_HOSTNAME",
                       ":", "-n", "2", "sh", "-c", "echo b $PMIXHOST_RANK $PMIXHOST_HOST_INDEX"});
    assert_int_equal(result.code(), 0);
    expect_lines(result.out, {"a 0/4 0/2 0 host0", "a 1/4 0/2 1 host1", "b 2 0", "b 3 1"});
}

void test_arguments_and_variables_arrive(void **) {
    ::setenv("TEST_ODD", "a\nb \\n \\\\", 1);
    auto result = run({"sh", "-c", "printf '%s|' \"$@\" \"$TEST_ODD\"", "x", "", "two\nlines", "\\", " "});
    assert_string_equal(result.out.c_str(), "|two\nlines|\\| |a\nb \\n \\\\|");
    ::unsetenv("TEST_ODD");
}

void test_standard_input(void **) {
    assert_string_equal(run({"-l", "-n", "2", "cat"}, "a\nb").out.c_str(), "0: a\n0: b\n");
    assert_string_equal(run({"-l", "-n", "2", "-i", "1", "cat"}, "a\n").out.c_str(), "1: a\n");
    assert_string_equal(run({"-l", "-n", "2", "-i", "none", "cat"}, "a\n").out.c_str(), "");
}

void test_much_output_arrives_whole(void **) {
    auto result = run({"-N", "2", "-n", "2", "seq", "1", "100000"});
    assert_int_equal(result.code(), 0);
    assert_int_equal(std::count(result.out.begin(), result.out.end(), '\n'), 200000);
}

// Does the other end of a task's standard output belong to the run itself?
bool output_comes_to_the_run() {
    Run job({"sh", "-c", "echo at $(readlink /proc/$$/fd/1) now; exec sleep 1000"});
    job.wait_for(" now\n");
    std::string pipe = job.so_far().out.substr(3, job.so_far().out.find(" now") - 3);
    assert_true(pipe.starts_with("pipe:["));
    bool has_it = false;
    for (const auto &entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", job.pid()))) {
        std::error_code has_gone;
        has_it |= std::filesystem::read_symlink(entry.path(), has_gone).string() == pipe;
    }
    job.signal(SIGTERM);
    assert_int_equal(job.finish().code(), 128 + SIGTERM);
    return has_it;
}

// The daemons stand between the tasks and the run, and nobody who looks at its output sees that.
void test_all_of_it_is_the_same_where_it_is_captured(void **state) {
    assert_true(output_comes_to_the_run());
    ::setenv("PMIXHOST_IO_CAPTURE", "on", 1);
    assert_false(output_comes_to_the_run());
    test_output_has_labels(state);
    test_standard_input(state);
    test_much_output_arrives_whole(state);
    auto result = run({"-N", "2", "sh", "-c", "setsid sleep 1000 & (setsid sleep 1000 &); echo done; exit 3"});
    assert_int_equal(result.code(), 3);
    expect_lines(result.out, {"done", "done"});
    assert_int_equal(run({"./no-such-program"}).code(), 2);
    expect_nothing_left();
    ::unsetenv("PMIXHOST_IO_CAPTURE");
}

void test_exit_codes_are_sruns(void **) {
    auto result = run({"-N", "2", "-n", "4", "sh", "-c", "exit $PMIXHOST_RANK"});
    assert_int_equal(result.code(), 3);
    expect_in(result.err, "pmixhost: error: host1: task 3: Exited with exit code 3\n");
    result = run({"-n", "1", "sh", "-c", "kill -SEGV $$"});
    assert_int_equal(result.code(), 139);
    expect_in(result.err, "pmixhost: error: host0: task 0: Segmentation fault");
    // A code goes before a signal.
    result = run({"-n", "2", "sh", "-c", "[ $PMIXHOST_RANK = 0 ] && exit 4; kill -KILL $$"});
    assert_int_equal(result.code(), 4);
    expect_in(result.err, "task 1: Killed\n");
    result = run({"./no-such-program"});
    assert_int_equal(result.code(), 2);
    expect_in(result.err, "pmixhost: error: host0: task 0: cannot execute ./no-such-program: "
                          "No such file or directory\n");
    assert_int_equal(run({"/etc/passwd"}).code(), 13);
    assert_int_equal(run({"-D", "/nonexistent", "true"}).code(), 2);
    assert_int_equal(run({"--no-such-option", "true"}).code(), 2);
    expect_nothing_left();
}

void test_the_end_of_one_may_end_all(void **) {
    const char *one_fails = "[ $PMIXHOST_RANK = 1 ] && exit 5; exec sleep 1000";
    auto result = run({"-K", "-N", "2", "-n", "4", "sh", "-c", one_fails});
    assert_int_equal(result.code(), 5);
    // Those that were killed for it are not listed.
    assert_true(result.err.find("Killed") == std::string::npos);
    result = run({"--wait", "100ms", "-N", "2", "sh", "-c", one_fails});
    assert_int_equal(result.code(), 5);
    expect_in(result.err, "the first task exited 100ms ago");
    result = run({"--timeout", "100ms", "-N", "2", "sleep", "1000"});
    assert_int_equal(result.code(), 124);
    expect_nothing_left();
}

void test_signals_reach_the_tasks(void **) {
    const char *script = "trap 'echo got usr1' USR1; trap 'echo got term; exit 6' TERM; echo ready; "
                         "while :; do sleep 0.05; done";
    Run job({"-l", "sh", "-c", script});
    job.wait_for("ready");
    job.signal(SIGUSR1);
    job.wait_for("got usr1");
    job.signal(SIGTERM);
    auto result = job.finish();
    assert_int_equal(result.code(), 6);
    expect_in(result.out, "got term");
    expect_nothing_left();
}

void test_a_second_sigterm_is_sigkill(void **) {
    Run job({"-N", "2", "sh", "-c", "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done"});
    job.wait_for("ready\nready");
    job.signal(SIGTERM);
    job.wait_for("no\nno");
    job.signal(SIGTERM);
    assert_int_equal(job.finish().code(), 137);
    expect_nothing_left();
}

void test_stopped_and_continued(void **) {
    Run job({"sh", "-c", "echo $$; exec sleep 1000"});
    job.wait_for("\n");
    job.signal(SIGTSTP);
    int status = 0;
    assert_int_equal(::waitpid(job.pid(), &status, WUNTRACED), job.pid());
    assert_true(WIFSTOPPED(status));
    job.signal(SIGCONT);
    job.signal(SIGTERM);
    assert_int_equal(job.finish().code(), 143);
    expect_nothing_left();
}

void test_what_tasks_leave_behind_is_ended(void **) {
    auto result = run({"-N", "2", "sh", "-c", "setsid sleep 1000 & (setsid sleep 1000 &); echo done"});
    assert_int_equal(result.code(), 0);
    expect_lines(result.out, {"done", "done"});
    expect_nothing_left();
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
        auto pid = static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
        auto stat = pid > 0 ? read_process_stat(pid) : Result<ProcessStat>(error(ErrorKind::not_found, "no process"));
        if (stat && stat->parent == parent)
            children.push_back(pid);
    }
    return children;
}

// Who is in a hurry, and be it twice, hears what did not end all the same.
void test_signals_wait_for_the_end_of_the_sweep(void **) {
    Run job({"sh", "-c",
             "trap 'exit 3' USR1; setsid sh -c 'echo left $$ there; exec sleep 1000' & "
             "while :; do sleep 0.05; done"});
    job.wait_for(" there\n");
    auto left = static_cast<pid_t>(std::atol(job.so_far().out.c_str() + 5));
    assert_true(left > 0);
    // Whom we trace only we can wait for.
    if (::ptrace(PTRACE_SEIZE, left, nullptr, nullptr) != 0)
        skip();
    job.signal(SIGUSR1);
    job.wait_for_error({"Exited with exit code 3"});
    for (int looks = 0; children_of(job.pid()) != std::vector<pid_t>{left}; ++looks) {
        pollfd none{-1, 0, 0};
        ::poll(&none, 1, 10);
        assert_true(looks < 2000);
    }
    job.signal(SIGTERM);
    job.signal(SIGINT);
    auto result = job.finish();
    assert_int_equal(::waitpid(left, nullptr, 0), left);
    assert_int_equal(result.code(), 3);
    expect_in(result.err, fmt::format("pmixhost: error: process {} does not end", left)); // not its daemon's word
    expect_nothing_left();
}

// How many bytes that process has written, as far as it was not held up.
std::size_t written_by(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/io", pid));
    for (std::string key, value; file >> key >> value;) {
        if (key == "wchar:")
            return std::stoul(value);
    }
    return 0;
}

// The tasks have ended, and what they wrote is with the daemon, since nobody reads: only that is left.
void test_a_second_ctrl_c_ends_what_is_left(void **) {
    const std::string go = scratch() + "-go";
    ::setenv("PMIXHOST_IO_CAPTURE", "on", 1);
    Run job(
        {"sh", "-c", "yes & echo writer $! writes >&2; until [ -e " + go + " ]; do sleep 0.05; done; kill $!; exit 3"},
        "", Run::Errors::terminal);
    ::unsetenv("PMIXHOST_IO_CAPTURE");
    job.wait_for_error({" writes"});
    auto writer = static_cast<pid_t>(std::atol(job.so_far().err.c_str() + std::strlen("writer ")));
    assert_true(writer > 0);
    // More than the run takes without a reader; all behind it is full then, and stays so.
    constexpr std::size_t run_takes = 1216u << 10;
    std::size_t before = 0, now = written_by(writer);
    for (int looks = 0; now <= run_takes || now != before; ++looks) {
        assert_true(looks < 200);
        pollfd none{-1, 0, 0};
        ::poll(&none, 1, 300);
        before = std::exchange(now, written_by(writer));
    }
    std::ofstream(go).close();
    job.wait_for_error({"Exited with exit code 3"});
    std::filesystem::remove(go);
    const std::string asked = "to abort)", ended = "ending what is left";
    for (int presses = 0; job.so_far().err.find(ended) == std::string::npos; ++presses) {
        assert_true(presses < 20); // the second one may come late
        auto from = job.so_far().err.size();
        job.signal(SIGINT);
        job.wait_for_error({asked, ended}, from);
    }
    auto result = job.finish();
    assert_int_equal(result.code(), 3);
    assert_true(result.out.size() >= 1'000'000);
    assert_true(result.err.find("sending Ctrl-C") == std::string::npos);
    expect_nothing_left();
}

void test_nothing_is_left_when_a_daemon_is_killed(void **) {
    auto result = run({"-N", "2", "-n", "4", "--fault", "kill,host=1,after=200ms", "sh", "-c",
                       "setsid sleep 1000 & exec sleep 1000"});
    assert_int_equal(result.code(), 1);
    expect_in(result.err, "pmixhost: error: host1: pmixhostd failed: Killed");
    expect_nothing_left();
}

// Though the job is to live on without tasks that it loses.
void test_a_job_whose_daemon_cannot_start_does_not_start(void **) {
    auto result = run(
        {"-N", "2", "--kill-on-bad-exit=0", "--fault", "kill,host=1,after=0ms", "--timeout", "60s", "sleep", "1000"});
    assert_int_equal(result.code(), 1);
    expect_in(result.err, "pmixhost: error: host1: pmixhostd failed: Killed");
    expect_nothing_left();
}

void test_nothing_is_left_when_a_daemon_hangs(void **) {
    auto result = run({"-N", "2", "--fault", "stop,host=1,after=100ms", "--timeout", "300ms", "--kill-wait", "100ms",
                       "sleep", "1000"});
    assert_int_equal(result.code(), 124);
    expect_nothing_left();
}

void test_nothing_is_left_when_the_launcher_is_killed(void **) {
    Run job({"-N", "2", "-n", "4", "-l", "sh", "-c", "setsid sleep 1000 >&- 2>&- & echo ready; exec sleep 1000"});
    for (int rank = 0; rank < 4; ++rank)
        job.wait_for(std::to_string(rank) + ": ready");
    job.signal(SIGKILL);
    assert_int_equal(job.finish().code(), -SIGKILL);
    expect_nothing_left();
}

void test_a_wrong_configuration_starts_nothing(void **) {
    std::string path = scratch() + "-conf";
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    assert_true(::write(file.get(), "[log]\nlevel = 3\n", 16) == 16);
    auto result = run({"--config", path, "echo", "started"});
    ::unlink(path.c_str());
    assert_int_equal(result.code(), 1);
    assert_string_equal(result.out.c_str(), "");
    expect_in(result.err, ":2: log.level is 3");
}

// A full pipe is what a terminal under Ctrl-S and a file on a dead server are too.
void test_a_log_that_nobody_reads_stops_nothing(void **) {
    std::string fifo = scratch() + "-log", path = scratch() + "-conf";
    assert_int_equal(::mkfifo(fifo.c_str(), 0600), 0);
    UniqueFd full(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    char page[4096] = {};
    while (::write(full.get(), page, sizeof page) > 0) {
    }
    std::string text = "[log]\nlevel = \"debug\"\nfile = \"" + fifo + "\"\n";
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    assert_true(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::setenv("PMIXHOST_LOG_LEVLE", "debug", 1); // each daemon has something to say about that
    auto result = run({"--config", path, "-N", "2", "-n", "2", "echo", "done"});
    assert_int_equal(result.code(), 0);
    expect_lines(result.out, {"done", "done"});
    // And with one who reads it is there.
    UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    while (::read(reader.get(), page, sizeof page) > 0) {
    }
    assert_int_equal(run({"--config", path, "echo", "done"}).code(), 0);
    ::unsetenv("PMIXHOST_LOG_LEVLE");
    ssize_t n = ::read(reader.get(), page, sizeof page);
    assert_true(n > 0);
    expect_in(std::string(page, static_cast<std::size_t>(n)), "pmixhostd[host0 ");
    ::unlink(path.c_str());
    ::unlink(fifo.c_str());
    expect_nothing_left();
}

} // namespace

int main() {
    adopt_orphans();
    // A directory in which whatever is left can be seen.
    std::string directory = "/tmp/pmixhost-test-XXXXXX";
    if (!::mkdtemp(directory.data()))
        return 99;
    ::setenv("PMIXHOST_TEST_SCRATCH", directory.c_str(), 1);
    ::setenv("PMIXHOST_PMIXHOSTD", PMIXHOST_TOP_BUILDDIR "/server-glue/pmixhostd", 1);
    // With the address sanitizer, what the PMIx library leaks at its end would be in the output.
    std::string suppressions = directory + ".lsan";
    {
        UniqueFd file(::open(suppressions.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        [[maybe_unused]] ssize_t n = ::write(file.get(), "leak:libpmix.so\n", 16);
    }
    ::setenv("LSAN_OPTIONS", ("print_suppressions=0:suppressions=" + suppressions).c_str(), 1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_output_has_labels),
        cmocka_unit_test(test_programs_know_their_place),
        cmocka_unit_test(test_arguments_and_variables_arrive),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_much_output_arrives_whole),
        cmocka_unit_test(test_all_of_it_is_the_same_where_it_is_captured),
        cmocka_unit_test(test_exit_codes_are_sruns),
        cmocka_unit_test(test_the_end_of_one_may_end_all),
        cmocka_unit_test(test_signals_reach_the_tasks),
        cmocka_unit_test(test_a_second_sigterm_is_sigkill),
        cmocka_unit_test(test_stopped_and_continued),
        cmocka_unit_test(test_what_tasks_leave_behind_is_ended),
        cmocka_unit_test(test_signals_wait_for_the_end_of_the_sweep),
        cmocka_unit_test(test_a_second_ctrl_c_ends_what_is_left),
        cmocka_unit_test(test_nothing_is_left_when_a_daemon_is_killed),
        cmocka_unit_test(test_a_job_whose_daemon_cannot_start_does_not_start),
        cmocka_unit_test(test_nothing_is_left_when_a_daemon_hangs),
        cmocka_unit_test(test_nothing_is_left_when_the_launcher_is_killed),
        cmocka_unit_test(test_a_wrong_configuration_starts_nothing),
        cmocka_unit_test(test_a_log_that_nobody_reads_stops_nothing),
    };
    int failed = cmocka_run_group_tests_name("local_run", tests, nullptr, nullptr);
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    ::unlink(suppressions.c_str());
    return failed;
}
