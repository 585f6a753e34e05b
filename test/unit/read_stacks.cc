// A look at processes with debuggers that do all that debuggers should not do (tools/stacks/read_stacks.h): it ends in
// time, what it has is shown, and nothing is left stopped or dead.
#include "tools/stacks/read_stacks.h"

#include "tools/stacks/gdb_text.h"
#include "tools/stacks/linker_names.h"
#include "tools/stacks/mapped_code.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <sched.h>
#include <set>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

const std::atomic<bool> never = false;

// A directory for programs that stand in for debuggers.
struct StandIns {
    std::string path;
    StandIns() {
        char name[] = "/tmp/pmixhost-read-XXXXXX";
        path = mkdtemp(name);
    }
    ~StandIns() { std::filesystem::remove_all(path); }
    std::string make(const std::string &name, const std::string &text) const {
        std::ofstream(path + "/" + name) << text;
        std::filesystem::permissions(path + "/" + name, std::filesystem::perms::owner_all);
        return path + "/" + name;
    }
    // The real gdb, between whose answers and us is this python; `change` has `line`, `token` and `real`.
    std::string around_gdb(const std::string &name, const std::string &gdb, const std::string &change) const {
        return make(name, "#!/usr/bin/env python3\n"
                          "import os, subprocess, sys, threading\n"
                          "real = subprocess.Popen(['" +
                              gdb +
                              "'] + sys.argv[1:], stdin=subprocess.PIPE, "
                              "stdout=subprocess.PIPE)\n"
                              "mark = '" +
                              path +
                              "/mark'\n"
                              "asked = {}\n"
                              "def copy():\n"
                              "    for line in sys.stdin.buffer:\n"
                              "        token, _, command = line.decode().partition('-')\n"
                              "        asked[token] = command.split()[0]\n"
                              "        real.stdin.write(line)\n"
                              "        real.stdin.flush()\n"
                              "    real.kill()\n"
                              "    os._exit(1)\n"
                              "threading.Thread(target=copy, daemon=True).start()\n"
                              "for line in real.stdout:\n"
                              "    token, sign, _ = line.decode(errors='replace').partition('^')\n"
                              "    command = asked.get(token, '') if sign else ''\n" +
                              change +
                              "    sys.stdout.buffer.write(line)\n"
                              "    sys.stdout.buffer.flush()\n");
    }
};

// A process that waits; ended when this is dropped.
struct Waiting {
    pid_t pid = -1;
    explicit Waiting(const char *program = nullptr, const char *name = "it") {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails drops nothing
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]), close(ends[1]);
            if (program)
                execl(program, name, nullptr);
            if (!program && write(STDOUT_FILENO, ".", 1) == 1) {
                for (;;)
                    pause();
            }
            _exit(1);
        }
        close(ends[1]);
        char byte = 0;
        assert_int_equal(read(ends[0], &byte, 1), 1);
        close(ends[0]);
    }
    ~Waiting() {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
    char state() const {
        auto stat = read_process_stat(pid);
        return stat ? stat->state : '-';
    }
    bool runs() const { return state() == 'S' || state() == 'R'; }
};

// One processor, so one debugger for one process after the other.
struct OneProcessor {
    cpu_set_t before;
    OneProcessor() {
        assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
            if (CPU_ISSET(cpu, &before))
                CPU_SET(cpu, &one);
        }
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    }
    ~OneProcessor() { sched_setaffinity(0, sizeof before, &before); }
};

StackWish wish_of(std::chrono::milliseconds patience) {
    StackWish wish;
    wish.deadline = StackClock::now() + patience;
    wish.over = &never;
    return wish;
}

std::vector<ProcessStacks> look(const std::vector<pid_t> &pids, const Debugger &debugger, const StackWish &wish) {
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    std::vector<ProcessStacks> processes(pids.size());
    for (std::size_t i = 0; i < pids.size(); ++i) {
        processes[i].rank = static_cast<Rank>(i);
        processes[i].host = host;
        processes[i].pid = pids[i];
    }
    return read_stacks(processes, "job", ticks_now() + 1, debugger, wish);
}

bool is_in(const ProcessStacks &process, const std::string &function) {
    for (const auto &thread : process.threads) {
        for (const auto &frame : thread.frames) {
            if (frame.function == function)
                return true;
        }
    }
    return false;
}

bool says(const ProcessStacks &process, const char *text) {
    if (process.why.find(text) != std::string::npos)
        return true;
    print_message("# it says: %s\n", process.why.c_str());
    return false;
}

// Empty: there is none, or this process may not look at another.
std::string gdb_that_may_look() {
    auto gdb = find_debugger("gdb");
    if (!gdb)
        return {};
    Waiting one;
    auto seen = look({one.pid}, *gdb, wish_of(std::chrono::seconds(60)));
    if (!seen[0].threads.empty())
        return gdb->path;
    print_message("# no gdb that may look: %s\n", seen[0].why.c_str());
    return {};
}

} // namespace

static void a_debugger_that_ignores_everything_is_not_waited_for(void **) {
    StandIns files;
    std::string pids = files.path + "/pids";
    Debugger deaf{files.make("gdb", "#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >>" + pids + "\nexec sleep 600\n"), true};
    Waiting one, two;
    auto wish = wish_of(std::chrono::milliseconds(1500));
    auto seen = look({one.pid, two.pid}, deaf, wish);
    assert_true(StackClock::now() < wish.deadline + std::chrono::seconds(20));
    assert_int_equal(seen.size(), 2);
    for (const auto &process : seen)
        assert_true(!process.why.empty() && process.threads.empty());
    assert_true(one.runs() && two.runs());
    std::ifstream begun(pids);
    int count = 0;
    for (pid_t pid; begun >> pid; ++count)
        assert_true(kill(pid, 0) != 0); // and it is gone
    assert_true(count > 0);
}

// Several that say much until they end, and several that do not end.
static void debuggers_that_do_not_end_are_waited_for_together(void **) {
    StandIns files;
    std::string speaks = files.make("speaks", "#!/bin/sh\nhead -c 1000000 /dev/zero\ncat >/dev/null\n: >\"" +
                                                  files.path + "/ended.$$\"\n");
    std::string stays = files.make("stays", "#!/bin/sh\nexec sleep 300\n");
    auto began = StackClock::now();
    {
        std::vector<GdbProcess> gdbs;
        gdbs.reserve(10);
        for (int i = 0; i < 10; ++i) {
            auto gdb = GdbProcess::start(i < 2 ? speaks : stays);
            assert_true(gdb.ok());
            gdbs.push_back(std::move(*gdb));
            gdbs.back().close_input();
        }
        std::vector<GdbProcess *> all;
        for (auto &gdb : gdbs)
            all.push_back(&gdb);
        std::size_t ended = 0;
        end_all({all[0], all[1]}, began + std::chrono::seconds(60));
        for (const auto &file : std::filesystem::directory_iterator(files.path))
            ended += file.path().filename().string().starts_with("ended.");
        assert_int_equal(ended, 2); // by themselves
        began = StackClock::now();
        end_all(all, began + std::chrono::milliseconds(200));
    }
    assert_true(StackClock::now() - began < std::chrono::seconds(8)); // eight times two, one after the other
}

static void a_gdb_that_says_no_but_holds_on_is_ended(void **) {
    std::string gdb = gdb_that_may_look();
    if (gdb.empty())
        skip();
    StandIns files;
    Debugger fickle{files.around_gdb("gdb", gdb,
                                     "    if command == 'target-attach' and not os.path.exists(mark):\n"
                                     "        open(mark, 'w').close()\n"
                                     "        line = (token + '^error,msg=\"not quite\"\\n').encode()\n"),
                    true};
    OneProcessor processor;
    Waiting one, two;
    auto seen = look({one.pid, two.pid}, fickle, wish_of(std::chrono::seconds(120)));
    assert_true(std::filesystem::exists(files.path + "/mark"));
    assert_true(says(seen[0], "not quite"));
    assert_true(says(seen[1], "") && !seen[1].threads.empty());
    assert_true(one.runs()); // it would be dead
    assert_true(two.runs());
}

static void a_gdb_that_does_not_get_on_lets_go(void **) {
    std::string gdb = gdb_that_may_look();
    if (gdb.empty())
        skip();
    StandIns files;
    Debugger slow{files.around_gdb("gdb", gdb, "    if command == 'thread-info':\n        continue\n"), true};
    Waiting one;
    auto wish = wish_of(std::chrono::seconds(120));
    wish.longest_stop = std::chrono::milliseconds(3000);
    auto seen = look({one.pid}, slow, wish);
    assert_true(says(seen[0], "--with eu-stack")); // a longer --timeout would not help
    assert_true(one.runs());
}

// A gdb that says "done" to all, and to the first file whose symbols it is to read does this before.
static std::string at_symbols(const StandIns &files, const std::string &what) {
    return files.make("gdb", "#!/bin/sh\n"
                             "echo begun >>\"" +
                                 files.path +
                                 "/begun\"\n"
                                 "while read -r line; do\n"
                                 "    case $line in\n"
                                 "    *add-symbol-file* | *-file-exec-and-symbols\\ *) [ -e \"" +
                                 files.path + "/mark\" ] || { : >\"" + files.path + "/mark\"; " + what +
                                 "; } ;;\n"
                                 "    esac\n"
                                 "    echo \"${line%%-*}^done\"\n"
                                 "done\n");
}

// While nothing is stopped, the time is the user's to give.
static void symbols_may_take_all_of_the_time(void **) {
    StandIns files;
    Waiting one;
    auto wish = wish_of(std::chrono::seconds(60));
    wish.longest_start = std::chrono::milliseconds(2000);
    auto seen = look({one.pid}, {at_symbols(files, "sleep 4"), true}, wish);
    assert_true(std::filesystem::exists(files.path + "/mark"));
    assert_true(says(seen[0], "gdb finds no thread")); // so it has come to look at it
    assert_true(one.runs());
}

static void symbols_that_take_longer_are_named(void **) {
    StandIns files;
    Waiting one;
    auto wish = wish_of(std::chrono::milliseconds(3000));
    auto seen = look({one.pid}, {at_symbols(files, "exec sleep 600"), true}, wish);
    assert_true(std::filesystem::exists(files.path + "/mark"));
    assert_true(says(seen[0], "has not read the symbols of /") && says(seen[0], "--timeout") &&
                says(seen[0], "--with eu-stack"));
    assert_true(StackClock::now() >= wish.deadline && one.runs());
}

static void symbols_at_which_gdb_ends_are_not_read_again(void **) {
    StandIns files;
    OneProcessor processor;
    Waiting one, two;
    auto seen = look({one.pid, two.pid}, {at_symbols(files, "exit 1"), true}, wish_of(std::chrono::seconds(60)));
    for (const auto &process : seen)
        assert_true(says(process, "gdb has ended at the symbols of /") && says(process, "--with eu-stack"));
    assert_int_equal(std::filesystem::file_size(files.path + "/begun"), std::string_view("begun\n").size());
    assert_true(one.runs() && two.runs());
}

// gdb would read the symbols of each process anew, while it stands still.
static void symbols_are_loaded_under_the_names_of_the_linker(void **) {
    std::set<std::string> own; // the other one is this program, too
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *out) {
            if (info->dlpi_name[0] == '/')
                static_cast<std::set<std::string> *>(out)->insert(info->dlpi_name);
            return 0;
        },
        &own);
    Waiting one;
    auto files = code_files(one.pid);
    std::set<std::string> named;
    for (const auto &[file, name] : linker_names(one.pid)) {
        assert_true(std::find(files.begin(), files.end(), file) != files.end());
        assert_true(std::filesystem::equivalent(file, name));
        named.insert(name);
    }
    assert_true(named == own && !own.empty());
    StandIns dir;
    Debugger says_done{dir.make("gdb", "#!/bin/sh\nwhile read -r line; do\n    echo \"$line\" >>\"" + dir.path +
                                           "/asked\"\n    echo \"${line%%-*}^done\"\ndone\n"),
                       true};
    look({one.pid}, says_done, wish_of(std::chrono::seconds(60)));
    std::ifstream asked(dir.path + "/asked");
    named.clear();
    for (std::string line; std::getline(asked, line);) {
        constexpr std::string_view word = "add-symbol-file target:";
        if (auto at = line.find(word); at != line.npos)
            named.insert(line.substr(at + word.size(), line.find(" -o") - at - word.size()));
    }
    assert_true(named == own);
    assert_true(one.runs());
}

// They come from the memory of whoever is looked at.
static void a_name_is_one_word_to_gdb(void **) {
    for (const char *name : {"/lib/x86_64-linux-gnu/libc.so.6", "/a/libstdc++.so.6", "/h\xc3\xa4/lib$x.so"})
        assert_true(is_gdb_word(name));
    for (const char *name : {"", "/x -s", "/x\f-s\f.text\f$_shell(cmd)", "/x\v-readnow", "/x\r-o", "/x\t1", "/x\n2",
                             "/x\"", "/x'", "/x\\ y", "/x\x7f", "/x\x01"})
        assert_false(is_gdb_word(name));
}

static void names_of_the_linker_are_not_guessed(void **) {
    assert_true(linker_names(0).empty());
    Waiting one;
    kill(one.pid, SIGKILL);
    siginfo_t ended{};
    assert_int_equal(waitid(P_PID, static_cast<id_t>(one.pid), &ended, WEXITED | WNOWAIT), 0);
    assert_true(linker_names(one.pid).empty()); // it has no memory any more
}

static void programs_without_build_id_are_told_apart(void **) {
    std::string gdb = gdb_that_may_look();
    if (gdb.empty())
        skip();
    OneProcessor processor;
    Waiting one(PMIXHOST_TOP_BUILDDIR "/test/unit/waits_one"), two(PMIXHOST_TOP_BUILDDIR "/test/unit/waits_two");
    auto seen = look({one.pid, two.pid, one.pid}, {gdb, true}, wish_of(std::chrono::seconds(120)));
    assert_true(is_in(seen[0], "waits_in_one") && is_in(seen[2], "waits_in_one"));
    assert_true(is_in(seen[1], "waits_in_two") && !is_in(seen[1], "waits_in_one"));
}

// Without symbols; the kernel loads each elsewhere.
static void calls_without_names_are_told_apart(void **) {
    std::string gdb = gdb_that_may_look();
    if (gdb.empty())
        skip();
    const char *program = PMIXHOST_TOP_BUILDDIR "/test/unit/waits_bare";
    Waiting one(program, "one"), two(program, "two"), again(program, "one");
    auto seen = look({one.pid, two.pid, again.pid}, {gdb, true}, wish_of(std::chrono::seconds(120)));
    std::vector<std::vector<std::string>> own(seen.size()); // names of calls in the program, the innermost first
    for (std::size_t i = 0; i < seen.size(); ++i) {
        assert_true(says(seen[i], "") && seen[i].threads.size() == 1);
        for (const auto &frame : seen[i].threads[0].frames) {
            assert_int_equal(frame.address, 0);
            if (frame.function.starts_with("waits_bare+0x")) {
                own[i].push_back(frame.function);
                assert_string_equal(frame.module.c_str(), program);
            }
        }
        assert_true(own[i].size() >= 2); // main() and below
    }
    assert_true(own[0] == own[2]);
    assert_true(own[0][0] != own[1][0]);
    assert_true(own[0][1] == own[1][1]); // main(), though it calls from another place
}

// Files that anybody may have written, and maps of which little is to be understood.
static void what_is_mapped_may_be_anything(void **) {
    StandIns files;
    std::string file = files.make("odd", "no program");
    auto named = [](MappedCode code, std::uint64_t address) {
        std::vector<StackFrame> frames{{"", "", 0, "", address}};
        code.name_nameless(frames);
        assert_int_equal(frames[0].address, 0);
        return frames[0].function;
    };
    std::string maps = "1000-3000 r--p 00000000 fe:01 12   " + file + "\n3000-4000 r-xp 00002000 fe:01 12   " + file +
                       "\n4000-5000 rw-p 00000000 00:00 0 \n5000-x r-xp 0 0 0 " + file + "\n-\n/\n5000 /x\n";
    assert_string_equal(named(MappedCode::of_maps(maps, ""), 0x3010).c_str(), "odd+0x2010");
    for (std::uint64_t address : {0x0, 0xfff, 0x4000, 0x5000})
        assert_string_equal(named(MappedCode::of_maps(maps, ""), address).c_str(), "");
    std::string said =
        "process 7\nMapped address spaces:\n\n          Start Addr   End Addr       Size     Offset objfile\n"
        "      0x1000     0x3000     0x2000        0x0 " +
        file + "\n      0x3000     0x4000     0x1000     0x2000  " + file + "\n";
    assert_string_equal(named(MappedCode::of_gdb(said), 0x3010).c_str(), "odd+0x2010");
    // A program, cut anywhere and scribbled on.
    std::ifstream in(PMIXHOST_TOP_BUILDDIR "/test/unit/waits_bare", std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    assert_true(whole.size() > 4096);
    auto write = [&](std::string_view bytes) { std::ofstream(file, std::ios::trunc | std::ios::binary) << bytes; };
    write(whole);
    // Where its code is depends on who has linked it; parts of it are further apart in memory than in the file.
    const std::uint64_t size = whole.size() + 0x10000, end = 0x1000 + size, step = size / 4096;
    std::string all = fmt::format("1000-{:x} r-xp 00000000 fe:01 12   {}\n", end, file);
    int functions = 0; // that begin before the address
    for (std::uint64_t address = 0x1000; address < end; address += step)
        functions += named(MappedCode::of_maps(all, ""), address) != fmt::format("odd+{:#x}", address - 0x1000);
    assert_true(functions > 10);
    std::srand(7);
    for (int i = 0; i < 400; ++i) {
        std::string damaged =
            whole.substr(0, i < 100 ? static_cast<std::size_t>(std::rand()) % whole.size() : whole.size());
        // Little of it, so that most is read as if it were right.
        for (std::size_t b = 64; i >= 100 && b < damaged.size(); b += 1 + static_cast<std::size_t>(std::rand()) % 400)
            damaged[b] = static_cast<char>(std::rand());
        write(damaged);
        for (std::uint64_t address = 0x2000; address < 0x3000; address += 0x60)
            assert_true(named(MappedCode::of_maps(maps, ""), address).starts_with("odd+0x"));
    }
}

static void half_a_word_of_eu_stack_is_half_a_word(void **) {
    StandIns files;
    std::string words = "#!/bin/sh\nfor last; do :; done\necho \"TID $last:\"\n";
    Waiting one;
    auto ask = [&](const std::string &text) {
        return look({one.pid}, {files.make("eu-stack", words + text), false}, wish_of(std::chrono::seconds(60)))[0];
    };
    auto seen = ask("echo '#0 0x1 main - x'");
    assert_true(seen.why.empty() && seen.threads.size() == 1 && !seen.threads[0].cut);
    seen = ask("echo '#0 0x1 main - x'; echo 'eu-stack: tid 7: no more' >&2; exit 1");
    assert_true(says(seen, "no more") && seen.threads.size() == 1);
    // All that it is asked for, which is one more than is kept.
    seen = ask(
        "while [ $1 != -n ]; do shift; done\ni=0\nwhile [ $i -lt $2 ]; do echo \"#$i 0x1 f - x\"; i=$((i+1)); done\n"
        "echo 'eu-stack: tid 7: shown max number of frames (257, use -n 0 for unlimited)' >&2; exit 1");
    assert_true(seen.why.empty() && seen.threads.size() == 1);
    assert_true(seen.threads[0].cut && seen.threads[0].frames.size() == max_frames);
    // It comes to grief in the middle.
    seen = ask("echo '#0 0x1 main - x'; kill -STOP $last; kill -KILL $$");
    assert_true(says(seen, "signal 9") && seen.threads.size() == 1);
    assert_true(one.runs());
    assert_false(seen.stopped);
}

static void whether_it_was_stopped_is_seen_late(void **) {
    Waiting one;
    auto target = LookedAt::find({"job", 0, one.pid, ticks_now() + 1, true});
    assert_true(target.ok() && !target->was_stopped());
    kill(one.pid, SIGSTOP);
    assert_int_equal(waitpid(one.pid, nullptr, WUNTRACED), one.pid);
    assert_true(target->see_whether_stopped() && target->was_stopped());
    target->put_right();
    assert_int_equal(one.state(), 'T');
    assert_int_equal(target->tracer(), 0);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_debugger_that_ignores_everything_is_not_waited_for),
        cmocka_unit_test(debuggers_that_do_not_end_are_waited_for_together),
        cmocka_unit_test(a_gdb_that_says_no_but_holds_on_is_ended),
        cmocka_unit_test(a_gdb_that_does_not_get_on_lets_go),
        cmocka_unit_test(symbols_may_take_all_of_the_time),
        cmocka_unit_test(symbols_that_take_longer_are_named),
        cmocka_unit_test(symbols_at_which_gdb_ends_are_not_read_again),
        cmocka_unit_test(symbols_are_loaded_under_the_names_of_the_linker),
        cmocka_unit_test(a_name_is_one_word_to_gdb),
        cmocka_unit_test(names_of_the_linker_are_not_guessed),
        cmocka_unit_test(programs_without_build_id_are_told_apart),
        cmocka_unit_test(calls_without_names_are_told_apart),
        cmocka_unit_test(what_is_mapped_may_be_anything),
        cmocka_unit_test(half_a_word_of_eu_stack_is_half_a_word),
        cmocka_unit_test(whether_it_was_stopped_is_seen_late),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
