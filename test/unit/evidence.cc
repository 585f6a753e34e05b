// What is written down of a process that stands still: its threads wait for a lock, spin and are stopped,
// with all signals blocked, and the report names what each does and the functions that it is in. And what
// bounds the capture: the file, the time.
#include "server-glue/evidence/evidence.h"

#include "common/base/small_file.h"
#include "config.h"
#include "server-glue/evidence/backtrace.h"
#include "server-glue/evidence/evidence_file.h"
#include "server-glue/evidence/evidence_report.h"
#include "server-glue/evidence/memory_map.h"
#include "server-glue/evidence/socket_list.h"
#include "server-glue/evidence/stopped_thread.h"
#include "server-glue/evidence/thread_snapshot.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

// Functions whose names the backtraces must have.
extern "C" {
[[gnu::noinline]] void evidence_holds_the_lock(std::mutex &lock, std::atomic<int> &ready) {
    std::lock_guard guard(lock);
    ++ready;
    for (;;)
        ::pause();
}
[[gnu::noinline]] void evidence_waits_for_the_lock(std::mutex &lock, std::atomic<int> &ready) {
    ++ready;
    std::lock_guard guard(lock);
    ++ready; // never: and keeps the guard's lifetime behind the call
}
[[gnu::noinline]] void evidence_spins(std::atomic<int> &ready) {
    ++ready;
    while (ready > 0) {
    }
}
}

namespace {

void name_this_thread(const char *name) {
    ::prctl(PR_SET_NAME, name, 0, 0, 0);
}

// Runs in the child: three threads that never end, and a line to `ready_fd` when they are where they are meant to be.
[[noreturn]] void stand_still(int ready_fd) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::mutex lock;
    std::atomic<int> ready{0};
    std::thread holder([&] {
        name_this_thread("holder");
        evidence_holds_the_lock(lock, ready);
    });
    while (ready < 1)
        std::this_thread::yield();
    std::thread waiter([&] {
        name_this_thread("wait (er)\n");
        evidence_waits_for_the_lock(lock, ready);
    });
    std::thread spinner([&] {
        name_this_thread("spinner");
        evidence_spins(ready);
    });
    while (ready < 3)
        std::this_thread::yield();
    [[maybe_unused]] ssize_t n = ::write(ready_fd, "x", 1);
    for (;;)
        ::pause();
}

class Still {
  public:
    Still() {
        int ends[2];
        assert_int_equal(::pipe(ends), 0);
        pid_ = ::fork();
        if (pid_ == 0)
            stand_still(ends[1]);
        ::close(ends[1]);
        char x = 0;
        assert_int_equal(::read(ends[0], &x, 1), 1);
        ::close(ends[0]);
    }
    ~Still() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Still(const Still &) = delete;
    pid_t pid() const { return pid_; }
    char state() const {
        auto text = read_small_file(fmt::format("/proc/{}/stat", pid_));
        auto stat = text ? parse_thread_stat(*text) : Result<ThreadStat>(text.failure());
        return stat ? stat->state : '?';
    }

  private:
    pid_t pid_;
};

struct Written {
    std::string file;
    std::vector<std::string> log;
};

Written written(pid_t pid) {
    Written out;
    Suspect suspect;
    suspect.pid = pid;
    suspect.found = "its event loop stood still";
    suspect.heartbeat = 4711;
    suspect.host = "n3";
    report(suspect, {[&](std::string_view text) { out.file += text; },
                     [&](const std::string &text) { out.log.push_back(text); }});
    return out;
}

void has(const std::string &text, const std::string &words) {
    if (text.find(words) == std::string::npos)
        fail_msg("'%s' is not in:\n%s", words.c_str(), text.c_str());
}

// From `begin` to the next empty line.
std::string part(const std::string &text, const std::string &begin) {
    auto at = text.find(begin);
    if (at == std::string::npos)
        fail_msg("'%s' is not in:\n%s", begin.c_str(), text.c_str());
    return text.substr(at, text.find("\n\n", at) - at);
}

pid_t thread_named(const std::string &report, const std::string &name) {
    auto at = report.find("\" ", report.find(fmt::format("\"{}", name)));
    auto begin = report.rfind("thread ", at);
    return static_cast<pid_t>(std::atoi(report.c_str() + begin + 7));
}

void threads_that_wait_and_spin_are_told_apart(void **) {
    Still still;
    // The waiter's last step into the kernel cannot be seen from here, so the report is made again until it shows.
    Written report;
    for (int i = 0; i < 50; ++i) {
        report = written(still.pid());
        if (report.file.find("held by thread") != std::string::npos)
            break;
    }
    has(report.file, "heartbeat:   counted to 4711, then no more");
    has(report.file, "found:       its event loop stood still");
    has(report.file, "host:        n3");
#ifdef PMIXHOST_SANITIZES_THREADS // which has threads of its own
    has(report.file, "threads:     ");
#else
    has(report.file, "threads:     4\n");
#endif
    has(report.file, "VmRSS");
    auto waiter = part(report.file, fmt::format("\nthread {} ", thread_named(report.file, "wait (er)")));
    has(waiter, "\"wait (er)?\" waits\n");
    has(waiter, "system call: futex(0x");
    has(waiter, fmt::format("held by thread {} \"holder\"", thread_named(report.file, "holder")));
    auto spinner = part(report.file, fmt::format("\nthread {} ", thread_named(report.file, "spinner")));
    has(spinner, "\"spinner\" runs (");
    has(spinner, "\n  state:       R");
    has(part(report.file, "\ndescriptors: "), "\n  0 ");
#ifndef PMIXHOST_SANITIZES_THREADS
    assert_int_equal(report.log.size(), 4);
#endif
#ifdef PMIXHOST_HAVE_LIBDW
    has(part(report.file, fmt::format("calls of thread {} ", thread_named(report.file, "wait (er)"))),
        "evidence_waits_for_the_lock");
    has(part(report.file, fmt::format("calls of thread {} ", thread_named(report.file, "holder"))),
        "evidence_holds_the_lock");
    auto spins = part(report.file, fmt::format("calls of thread {} ", thread_named(report.file, "spinner")));
    has(spins, "evidence_spins");
    has(spins, "a moment later:");
    has(report.file, "build ID");
    std::string log;
    for (const auto &line : report.log)
        log += line + "\n";
    has(log, "evidence_waits_for_the_lock");
    has(log, "evidence_spins");
#endif
    // It goes on as before.
    assert_int_equal(still.state(), 'S');
}

void a_process_that_was_stopped_is_said_to_be(void **) {
    Still still;
    ::kill(still.pid(), SIGSTOP);
    int status = 0;
    assert_int_equal(::waitpid(still.pid(), &status, WUNTRACED), still.pid());
    Written report = written(still.pid());
    has(report.file, fmt::format("\nthread {} \"evidence\" was stopped by a signal", still.pid()));
    has(part(report.file, fmt::format("\nthread {} ", thread_named(report.file, "spinner"))), "\n  state:       T");
    for (const auto &line : report.log)
        has(line, "was stopped by a signal");
#ifdef PMIXHOST_HAVE_LIBDW
    has(part(report.file, fmt::format("calls of thread {} ", thread_named(report.file, "spinner"))), "evidence_spins");
#endif
    assert_int_equal(still.state(), 'T'); // and stays so
}

// Without libdw.
void a_stack_can_be_scanned(void **) {
    Still still;
    auto tracer = Backtracer::scan_stacks(still.pid());
    assert_true(tracer.ok());
    Written report = written(still.pid());
    auto frames = (*tracer)->frames(thread_named(report.file, "holder"));
    assert_true(frames.ok());
    std::string all;
    for (const auto &frame : *frames)
        all += frame.where + "\n";
    has(all, "libc.so");
    has(all, "evidence+0x");
    assert_false((*tracer)->frames(thread_named(report.file, "spinner")).ok());
}

void threads_are_read_as_the_kernel_writes_them(void **) {
    auto stat = parse_thread_stat("12 (a) b ()) R 1 1 1 0 -1 4194304 1 0 0 0 17 4 0 0 20 0 1 0 987654 0 0\n");
    assert_true(stat.ok());
    assert_string_equal(stat->name.c_str(), "a) b ()");
    assert_int_equal(stat->state, 'R');
    assert_int_equal(stat->user_ticks, 17);
    assert_int_equal(stat->system_ticks, 4);
    assert_int_equal(stat->began, 987654);
    for (const char *wrong : {"", "12 a R 1", "12 (a)", "12 (a) R 1 2 3", "12 )a( R"})
        assert_false(parse_thread_stat(wrong).ok());

    auto call = parse_thread_call("running\n");
    assert_true(call.ok() && call->kind == ThreadCall::Kind::running);
    call = parse_thread_call("-1 0x7ffe1000 0x401000\n");
    assert_true(call.ok() && call->kind == ThreadCall::Kind::outside);
    assert_int_equal(call->program_counter, 0x401000);
    call =
        parse_thread_call(fmt::format("{} 0xab 0x80 0x2 0x0 0x0 0xffffffffffffffff 0x7ffe1000 0x401000\n", SYS_futex));
    assert_true(call.ok() && call->kind == ThreadCall::Kind::in_call);
    assert_string_equal(
        describe(*call).c_str(),
        fmt::format("futex(0xab, 0x80, 0x2, 0x0, 0x0, 0xffffffffffffffff), call {}", SYS_futex).c_str());
    assert_int_equal(awaited_mutex(*call), 0xab);
    call->arguments[2] = 1; // a condition variable
    assert_int_equal(awaited_mutex(*call), 0);
    call = parse_thread_call("99999 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8");
    assert_true(describe(*call).starts_with("call 99999(0x1, "));
    for (const char *wrong : {"", "x", "202 0x1 0x2", "202 1 2 3 4 5 6 7 8", "-1 0x1"})
        assert_false(parse_thread_call(wrong).ok());

    ThreadStat first{"x", 'S', 10, 10, 0}, second{"x", 'S', 10, 10, 0};
    auto says = [&] { return describe_activity(first, second, 200ms, 100); };
    assert_string_equal(says().c_str(), "waits");
    second.user_ticks = 29;
    second.system_ticks = 11;
    assert_string_equal(says().c_str(), "runs (200 ms of CPU time, 10 of them in the kernel, in 200 ms)");
    assert_true(runs(first, second));
    second = first;
    second.state = 'D';
    has(says(), "cannot be interrupted");
    first.state = second.state = 'R';
    has(says(), "wants to run");
    second.state = 'T';
    has(says(), "was stopped by a signal");
}

void addresses_are_found_in_files(void **) {
    MemoryMap map("00400000-00401000 r--p 00000000 fe:00 12                         /usr/bin/x y\n"
                  "00401000-00409000 r-xp 00001000 fe:00 12                         /usr/bin/x y\n"
                  "nonsense\n\n7f00-\n"
                  "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n");
    assert_string_equal(map.place(0x401234).c_str(), "x y+0x1234");
    assert_true(map.executable(0x401234));
    assert_false(map.executable(0x400234));
    assert_string_equal(map.place(0x7f0000000010).c_str(), "[anonymous]+0x10");
    assert_string_equal(map.place(0x409000).c_str(), "");
    assert_string_equal(map.place(0).c_str(), "");
    assert_string_equal(MemoryMap("").place(1).c_str(), "");
}

void names_are_short_in_the_log(void **) {
    for (auto [name, wanted] :
         {std::pair{"main", "main"},
          {"pmixhost::EventLoop::run()", "pmixhost::EventLoop::run"},
          {"pmixhost::(anonymous namespace)::serve(pmixhost::(anonymous namespace)::Begin, int*)", "pmixhost::serve"},
          {"void std::f<a::b(c)::{lambda()#1}>(d<e>&)", "std::f"},
          {"a::B::c(int) const", "a::B::c"},
          {"a<b", "a"},
          {")>a", "a"},
          {"", ""}})
        assert_string_equal(brief_name(name).c_str(), wanted);
}

void sockets_have_their_ends(void **) {
    SocketList list;
    list.add("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
             "   0: 0100007F:1F90 0200A8C0:C001 01 00000010:00000020 00:00000000 00000000  1000        0 77 1\n"
             "   1: 00000000:0016 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 78 1\n"
             "   2: broken\n",
             false);
    list.add("   0: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:C001 08 00000000:00000001 "
             "00:00000000 00000000  1000        0 79 1\n",
             true);
    assert_string_equal(list.describe(77).c_str(),
                        "TCP 127.0.0.1:8080 to 192.168.0.2:49153, established, 32 bytes unread, 16 bytes unsent");
    assert_string_equal(list.describe(78).c_str(), "TCP 0.0.0.0:22, listening, 3 connections not yet accepted");
    assert_string_equal(list.describe(79).c_str(),
                        "TCP [::1]:8080 to [::1]:49153, close wait, 1 bytes unread, 0 bytes unsent");
    assert_string_equal(list.describe(80).c_str(), "");
}

class Directory {
  public:
    Directory() {
        const char *base = std::getenv("TMPDIR");
        path_ = std::string(base && *base ? base : "/tmp") + "/evidence-test-XXXXXX";
        assert_non_null(::mkdtemp(path_.data()));
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    Directory(const Directory &) = delete;
    const std::string &path() const { return path_; }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
    }

  private:
    std::string path_;
};

void the_file_is_bounded_and_the_users_alone(void **) {
    Directory directory;
    auto file = EvidenceFile::create({"/nonexistent", directory.path()}, "n/3", "12.0", 99);
    assert_true(file.ok());
    has(file->path(), directory.path() + fmt::format("/pmixhost-evidence-{}-n_3-12.0-", ::getuid()));
    struct stat status {};
    assert_int_equal(::stat(file->path().c_str(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    std::string line(1000, 'x');
    for (int i = 0; i < 1000; ++i)
        file->write(line);
    auto text = read_small_file(file->path());
    assert_true(text->size() <= EvidenceFile::max_bytes && text->size() > EvidenceFile::max_bytes - 2000);
    has(*text, "The rest would not fit");
    // What is there is never written to.
    std::string taken = file->path();
    std::filesystem::remove(taken);
    std::string other = directory.path() + "/other";
    std::ofstream(other) << "mine";
    for (int second = 0; second < 3; ++second) { // the name has the time in it
        std::filesystem::remove(taken);
        std::filesystem::create_symlink(other, taken);
        auto again = EvidenceFile::create({directory.path()}, "n/3", "12.0", 99);
        if (!again)
            break;
        taken = again->path();
        assert_int_not_equal(second, 2);
    }
    assert_string_equal(read_small_file(other)->c_str(), "mine");
}

void the_oldest_files_go(void **) {
    Directory directory;
    std::string keep = directory.path() + fmt::format("/pmixhost-evidence-{}-other-1.0-x-1.txt", ::getuid());
    std::ofstream(keep) << "another host's";
    std::vector<std::string> paths;
    for (int i = 0; i < 11; ++i) {
        auto file = EvidenceFile::create({directory.path()}, "n3", "1.0", 100 + i);
        assert_true(file.ok());
        timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        assert_int_equal(::utimensat(AT_FDCWD, file->path().c_str(), times, 0), 0);
        file->remove_older();
        paths.push_back(file->path());
    }
    assert_int_equal(directory.files(), EvidenceFile::kept + 1);
    assert_true(std::filesystem::exists(keep));
    assert_false(std::filesystem::exists(paths[2]));
    assert_true(std::filesystem::exists(paths[3]) && std::filesystem::exists(paths[10]));
}

// A program in place of pmixhost-evidence.
std::string script(const Directory &directory, const std::string &text) {
    std::string path = directory.path() + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << text;
    ::chmod(path.c_str(), 0755);
    return path;
}

std::string text_of_log(std::FILE *file) {
    std::rewind(file);
    std::string text(65536, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
}

struct LogFile {
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file{std::tmpfile(), std::fclose};
    Log log{::fileno(file.get()), LogLevel::warning, "test"};
};

Suspect suspect_of(pid_t pid) {
    Suspect suspect;
    suspect.pid = pid;
    suspect.found = "it stood still";
    return suspect;
}

void a_capture_that_blocks_is_killed(void **) {
    Directory directory;
    LogFile log;
    EvidencePlace place{script(directory, "echo file /x/y\necho log thread 1 waits\nexec sleep 60\n"), {}, "n3", "1.0"};
    auto begin = std::chrono::steady_clock::now();
    assert_string_equal(capture_evidence(place, suspect_of(1), log.log, 300ms).c_str(), "/x/y");
    assert_true(std::chrono::steady_clock::now() - begin < 5s);
    has(text_of_log(log.file.get()), "thread 1 waits");
    has(text_of_log(log.file.get()), "not complete");
    assert_int_equal(::waitpid(-1, nullptr, WNOHANG), -1); // nothing of it is left
}

void a_capture_cannot_flood_the_log(void **) {
    Directory directory;
    LogFile log;
    EvidencePlace place{script(directory, "i=0; while [ $i -lt 1000 ]; do echo log x$i; i=$((i+1)); done; echo done\n"),
                        {},
                        "n3",
                        "1.0"};
    assert_string_equal(capture_evidence(place, suspect_of(1), log.log, 20s).c_str(), "");
    auto text = text_of_log(log.file.get());
    has(text, "x71\n");
    assert_null(std::strstr(text.c_str(), "x72\n"));
    assert_null(std::strstr(text.c_str(), "not complete"));
}

void a_program_that_is_not_there_is_no_evidence(void **) {
    LogFile log;
    EvidencePlace place{"/nonexistent/program", {"/tmp"}, "n3", "1.0"};
    assert_string_equal(capture_evidence(place, suspect_of(1), log.log, 20s).c_str(), "");
    has(text_of_log(log.file.get()), "not complete");
}

// With the real program: of a child, and of this process, which goes on meanwhile.
void the_program_writes_the_file(void **) {
    Directory directory;
    Still still;
    LogFile log;
    EvidencePlace place{PMIXHOST_TOP_BUILDDIR "/server-glue/pmixhost-evidence", {directory.path()}, "n3", "1.0"};
    for (pid_t pid : {still.pid(), ::getpid()}) {
        auto file = capture_evidence(place, suspect_of(pid), log.log, 60s);
        has(file, directory.path());
        auto text = read_small_file(file);
        assert_true(text.ok());
        has(*text, fmt::format("process:     {}, running for", pid));
        has(*text, "found:       it stood still");
        has(*text, fmt::format("\nthread {} \"evidence\" ", pid));
#ifdef PMIXHOST_HAVE_LIBDW
        has(part(*text, fmt::format("calls of thread {} ", pid)), " main");
#endif
        has(text_of_log(log.file.get()), fmt::format("thread {} \"evidence\" ", pid));
    }
    assert_null(std::strstr(text_of_log(log.file.get()).c_str(), "not complete"));
}

// SIGABRT is blocked in one, and one is stopped, which takes no signal either.
void a_child_is_ended_for_its_core_and_in_any_case(void **) {
    for (bool stubborn : {false, true}) {
        pid_t pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // no core of a test
            sigset_t abort;
            ::sigemptyset(&abort);
            ::sigaddset(&abort, SIGABRT);
            ::sigprocmask(stubborn ? SIG_BLOCK : SIG_UNBLOCK, &abort, nullptr);
            ::raise(SIGSTOP);
            for (;;)
                ::pause();
        }
        int status = 0;
        assert_int_equal(::waitpid(pid, &status, WUNTRACED), pid);
        UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
        end_with_core(pid, process.get(), stubborn ? 200ms : 30s);
        assert_int_equal(::waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), stubborn ? SIGKILL : SIGABRT);
    }
}

} // namespace

int main() {
    // As backtrace.h wants it.
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    const CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_read_as_the_kernel_writes_them),
        cmocka_unit_test(addresses_are_found_in_files),
        cmocka_unit_test(names_are_short_in_the_log),
        cmocka_unit_test(sockets_have_their_ends),
        cmocka_unit_test(the_file_is_bounded_and_the_users_alone),
        cmocka_unit_test(the_oldest_files_go),
        cmocka_unit_test(a_capture_that_blocks_is_killed),
        cmocka_unit_test(a_capture_cannot_flood_the_log),
        cmocka_unit_test(a_program_that_is_not_there_is_no_evidence),
        cmocka_unit_test(threads_that_wait_and_spin_are_told_apart),
        cmocka_unit_test(a_process_that_was_stopped_is_said_to_be),
        cmocka_unit_test(a_stack_can_be_scanned),
        cmocka_unit_test(the_program_writes_the_file),
        cmocka_unit_test(a_child_is_ended_for_its_core_and_in_any_case),
    };
    return cmocka_run_group_tests_name("evidence", tests, nullptr, nullptr);
}
