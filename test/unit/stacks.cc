// What debuggers say is understood whatever is in it (tools/stacks/gdb_text.h, eu_stack_text.h), comes from the hosts
// in one piece (stack_lines.h), becomes one tree (stack_tree.h), and is shown so that no name of a function does harm.
#include "tools/stacks/attach_refusal.h"
#include "tools/stacks/eu_stack_text.h"
#include "tools/stacks/gdb_text.h"
#include "tools/stacks/looked_at.h"
#include "tools/stacks/shown_text.h"
#include "tools/stacks/stack_lines.h"
#include "tools/stacks/stack_report.h"

#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <regex>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

ThreadStack stack_of(std::vector<std::string> outermost_first) {
    ThreadStack out;
    for (auto name = outermost_first.rbegin(); name != outermost_first.rend(); ++name)
        out.frames.push_back({*name, "/src/hang.c", 7, {}});
    return out;
}

std::string shown(const StackTree &tree, std::size_t index = StackTree::root) {
    const auto &node = tree.node(index);
    std::string out = index == StackTree::root ? "" : node.function + "[" + ranks_text(node.ranks) + "]";
    if (node.differs)
        out = "*" + out;
    if (node.below.empty())
        return out;
    out += "(";
    for (std::size_t below : node.below)
        out += shown(tree, below);
    return out + ")";
}

bool has(const std::string &text, const char *part) {
    return text.find(part) != text.npos;
}

} // namespace

static void yamas_word_is_explained(void **) {
    char directory[] = "/tmp/pmixhost-unit-XXXXXX";
    assert_non_null(mkdtemp(directory));
    const std::string file = std::string(directory) + "/ptrace_scope";
    auto text = [&file](const char *scope) {
        std::ofstream(file) << scope;
        return why_not_attached("ptrace: Operation not permitted.", 12, file);
    };
    auto says = [](const std::string &all, const char *part) { return all.find(part) != all.npos; };
    const char *begin = "process 12 may not be looked at: ptrace: Operation not permitted; next: ";
    for (const char *allowed : {"0\n", "", "?\n"})
        assert_true(text(allowed).starts_with(begin) && says(text(allowed), "next: see whether its program is setuid"));
    assert_true(text("1\n").starts_with(begin));
    assert_true(
        says(text("1\n"), "ptrace_scope is 1 on its host, by which nobody may look at processes that he has not"));
    assert_true(says(text("2\n"), "ptrace_scope is 2 on its host, by which only root may"));
    assert_true(says(text("3\n"), "is 3 on its host, by which nobody may look at processes until the host is started"));
    for (const char *forbidden : {"1\n", "2\n", "3\n"})
        assert_true(says(text(forbidden), "administrator for 0") && !says(text(forbidden), "setuid"));
    // It is no word of the kernel's.
    assert_string_equal(why_not_attached("No such process.\n", 12, file).c_str(), "process 12: No such process");
    std::filesystem::remove_all(directory);
    assert_true(says(why_not_attached("Permission denied", 12, file), "setuid")); // a kernel without Yama
}

static void gdb_is_understood(void **) {
    auto record =
        parse_gdb_line(R"(7^done,stack=[frame={level="0",addr="0x1",func="read",from="/lib/libc.so.6"},)"
                       R"(frame={level="1",addr="0x2",func="main",file="hang.c",fullname="/s/hang.c",line="12"}])");
    assert_true(record.ok());
    assert_int_equal(record->kind, '^');
    assert_string_equal(record->token.c_str(), "7");
    assert_string_equal(record->word.c_str(), "done");
    auto frames = frames_of_gdb(record->values);
    assert_int_equal(frames.size(), 2);
    assert_true(frames[0] == (StackFrame{"read", "", 0, "/lib/libc.so.6", 1}));
    assert_true(frames[1] == (StackFrame{"main", "hang.c", 12, "", 2}));
    record = parse_gdb_line("3^done,threads=[{id=\"2\",target-id=\"Thread 0x7f1 (LWP 77)\",name=\"a\\nb\"},"
                            "{id=\"1\",target-id=\"LWP 76\"},{id=\"x;kill\",target-id=\"LWP 3\"},\"?\"],"
                            "current-thread-id=\"1\"");
    assert_true(record.ok());
    auto threads = threads_of_gdb(record->values);
    assert_int_equal(threads.size(), 2);
    assert_int_equal(threads[0].id, 77);
    assert_string_equal(threads[0].name.c_str(), "a\\x0ab");
    assert_int_equal(threads[1].id, 76);
    record = parse_gdb_line(R"(4^error,msg="ptrace: Operation not permitted.")");
    assert_true(record.ok() && record->word == "error" && record->values["msg"] == "ptrace: Operation not permitted.");
    assert_int_equal(parse_gdb_line("(gdb) ")->kind, '(');
    record = parse_gdb_line(R"(~"31   AT_EXECFN   File name   0x7f \"/home/a\\303\\251\"\n")");
    assert_true(record.ok());
    record = parse_gdb_line("~\"\\303\\251\\033[1m\"");
    assert_true(record.ok() && record->word == "\xc3\xa9\x1b[1m");
    assert_true(parse_gdb_line(R"(*stopped,frame={args=[{name="a"}]},thread-id="1")").ok());
    assert_string_equal(gdb_quoted("a \"b\\\n").c_str(), R"("a \"b\\\012")");
}

static void what_is_not_gdbs_is_refused(void **) {
    for (std::string line :
         {"", "7", "hello", "7^done,stack=[", "7^done,a=\"", "7^done,a=\"\\", "7^done,a={b=\"c\"", "7^done,=\"x\"",
          "7^done,a", "^done,a=\"b\"x", "~hello", "~\"a\"b", "^done,a=[b=]", "^done,a=[\"b\"\"c\"]", "^done,a=[,]"}) {
        if (line == "^done,=\"x\"" || line == "7^done,=\"x\"")
            (void)parse_gdb_line(line); // an empty name does no harm
        else
            assert_false(parse_gdb_line(line).ok());
    }
    assert_false(parse_gdb_line("^done,a=" + std::string(100000, '[')).ok());
    assert_false(parse_gdb_line("^done,a=" + std::string(100000, '{')).ok());
    std::string whole = R"(7^done,stack=[frame={func="f\033]0;x\007<script>",line="99999999999999"}])";
    for (std::size_t size = 0; size < whole.size(); ++size)
        assert_false(size > 7 && parse_gdb_line(whole.substr(0, size)).ok());
    auto frames = frames_of_gdb(parse_gdb_line(whole)->values);
    assert_string_equal(frames[0].function.c_str(), "f\\x1b]0;x\\x07<script>");
    assert_int_equal(frames[0].line, 0);
    for (const char *line : {"^done,stack=\"x\"", "^done,stack={frame=\"x\"}", "^done,stack=[\"x\",[\"y\"],{func=[]}]",
                             "^done,threads={}", "^done"}) {
        auto record = parse_gdb_line(line);
        assert_true(record.ok());
        assert_true(frames_of_gdb(record->values).size() <= 3);
        assert_true(threads_of_gdb(record->values).empty());
    }
    std::string many = "^done,stack=[";
    for (int i = 0; i < 2000; ++i)
        many += std::string(i == 0 ? "" : ",") + "frame={func=\"" + std::string(1000, 'f') + "\"}";
    frames = frames_of_gdb(parse_gdb_line(many + "]")->values);
    assert_int_equal(frames.size(), max_frames + 1);
    assert_int_equal(frames[0].function.size(), max_frame_text + 3);
}

static void eu_stack_is_understood(void **) {
    auto threads = threads_of_eu_stack("PID 7 - process\nTID 7:\n"
                                       "#0  0x00007f42 clock_nanosleep@GLIBC_2.2.5 - /usr/lib/libc.so.6\n"
                                       "    ../sysdeps/clock_nanosleep.c:48:7\n"
                                       "#1  0x00005626 a::b(int, char const*) - /tmp/my hang\n    /tmp/hang.c:4:65\n"
                                       "#2  0x00005627 - /tmp/hang\n#3  0x00005627\nTID 9:\n#0  0x1 \x1b[2J - x\n"
                                       "nonsense\n    \n    :\n    a:b\n#\n");
    assert_int_equal(threads.size(), 2);
    assert_int_equal(threads[0].id, 7);
    assert_int_equal(threads[0].frames.size(), 4);
    assert_true(threads[0].frames[0] ==
                (StackFrame{"clock_nanosleep", "../sysdeps/clock_nanosleep.c", 48, "/usr/lib/libc.so.6", 0x7f42}));
    assert_true(threads[0].frames[1] ==
                (StackFrame{"a::b(int, char const*)", "/tmp/hang.c", 4, "/tmp/my hang", 0x5626}));
    assert_true(threads[0].frames[2] == (StackFrame{"", "", 0, "/tmp/hang", 0x5627}));
    assert_string_equal(threads[1].frames[0].function.c_str(), "\\x1b[2J");
    assert_true(threads_of_eu_stack("").empty());
    assert_true(threads_of_eu_stack("#0  0x1 f - x\n    a:1:2\n").empty());
}

static void same_calls_are_one(void **) {
    StackTree tree;
    for (Rank rank : {5u, 0u, 1u, 2u})
        tree.add(rank, stack_of({"main", "meet", "barrier"}));
    tree.finish();
    assert_string_equal(shown(tree).c_str(), "(main[0-2,5](meet[0-2,5](barrier[0-2,5])))");
    assert_int_equal(tree.groups(), 1);
    tree.add(3, stack_of({"main", "meet", "send"})); // another leaf
    tree.add(4, stack_of({"main"}));                 // not as deep
    tree.finish();
    assert_string_equal(shown(tree).c_str(), "(main[0-5](*meet[0-3,5](*barrier[0-2,5]*send[3])))");
    assert_int_equal(tree.groups(), 3);
    assert_int_equal(count_of(tree.node(StackTree::root).ranks), 6);
    StackTree recursion;
    recursion.add(0, stack_of({"main", "f", "f", "f"}));
    recursion.add(1, stack_of({"main", "f", "f"}));
    recursion.finish();
    assert_string_equal(shown(recursion).c_str(), "(main[0-1](f[0-1](f[0-1](*f[0]))))");
    StackTree empty;
    empty.finish();
    assert_string_equal(shown(empty).c_str(), "");
}

static void lines_and_libraries_tell_apart(void **) {
    auto at = [](unsigned line) { return ThreadStack{0, "", {{"main", "/a/b/hang.c", line, ""}}, false}; };
    StackTree tree, by_line(true);
    for (auto *one : {&tree, &by_line}) {
        one->add(0, at(12));
        one->add(1, at(14));
        one->finish();
    }
    assert_int_equal(tree.size(), 2);
    assert_string_equal(place_of(tree.node(1)).c_str(), "hang.c:12,14");
    assert_int_equal(by_line.size(), 3);
    StackTree unknown;
    unknown.add(0, ThreadStack{0, "", {{"", "", 0, "/lib/liba.so"}}, false});
    unknown.add(1, ThreadStack{0, "", {{"", "", 0, "/lib/libb.so"}}, true});
    unknown.add(2, ThreadStack{0, "", {{"", "", 0, "/other/liba.so"}}, false});
    unknown.finish();
    assert_int_equal(unknown.size(), 4);
    std::string text = report_text({"j", {}, unknown}, {});
    assert_string_equal(name_of(unknown.node(unknown.node(StackTree::root).below[0])).c_str(), "??");
    assert_string_equal(place_of(unknown.node(unknown.node(StackTree::root).below[0])).c_str(), "in liba.so");
}

// "srun --multi-prog": two programs, each with a main() of its own.
static void files_tell_apart_where_both_are_known(void **) {
    auto at = [](const char *file, const char *module) {
        return ThreadStack{0, "", {{"main", file, 7, module}}, false};
    };
    StackTree tree;
    tree.add(0, at("/src/one.c", ""));
    tree.add(1, at("/src/two.c", ""));
    tree.add(2, at("/elsewhere/one.c", ""));
    tree.finish();
    assert_string_equal(shown(tree).c_str(), "(*main[0,2]*main[1])");
    assert_string_equal(place_of(tree.node(1)).c_str(), "one.c:7");
    assert_string_equal(place_of(tree.node(2)).c_str(), "two.c:7");
    StackTree modules; // by their libraries where there is no debugging information
    modules.add(0, at("", "/bin/one"));
    modules.add(1, at("", "/bin/two"));
    assert_int_equal(modules.size(), 3);
    StackTree mixed; // some hosts have it, others do not
    mixed.add(0, at("", "/bin/one"));
    mixed.add(1, at("/src/one.c", ""));
    mixed.add(2, at("/src/one.c", "/bin/one"));
    mixed.add(3, at("", ""));
    assert_int_equal(mixed.size(), 2);
    assert_string_equal(place_of(mixed.node(1)).c_str(), "one.c:7");
}

static void threads_count(void **) {
    StackTree tree;
    for (Rank rank = 0; rank < 2; ++rank) {
        tree.add(rank, stack_of({"main", "wait"}));
        for (int i = 0; i < 3; ++i)
            tree.add(rank, stack_of({"start_thread", "poll"}));
    }
    tree.finish();
    assert_string_equal(shown(tree).c_str(), "(*main[0-1](wait[0-1])*start_thread[0-1](poll[0-1]))");
    assert_int_equal(tree.node(tree.node(StackTree::root).below[1]).threads, 6);
}

// In processor time, since others may keep the processors; what grows with the square would take minutes.
static void many_ranks_are_fast(void **) {
    const std::clock_t begin = std::clock();
    StackTree tree;
    for (Rank rank = 0; rank < 10000; ++rank) {
        std::vector<std::string> calls;
        for (int depth = 0; depth < 30; ++depth)
            calls.push_back("call" + std::to_string(depth));
        calls.push_back("odd" + std::to_string(rank % 3));
        tree.add((rank * 7919) % 10000, stack_of(calls));
    }
    tree.finish();
    assert_true(std::clock() - begin < 40 * CLOCKS_PER_SEC); // a sanitizer's 10 or so
    assert_string_equal(ranks_text(tree.node(1).ranks).c_str(), "0-9999");
    assert_int_equal(tree.size(), 1 + 30 + 3);
    const auto &odd = tree.node(tree.size() - 1).ranks;
    assert_true(ranks_text(odd, 2).ends_with(",..."));
    assert_int_equal(report_text({"j", {}, tree}, {}).find('\x1b'), std::string::npos);
}

static void hosts_words_come_in_one_piece(void **) {
    ProcessStacks one;
    one.rank = 3, one.host = "n1", one.pid = 12, one.executable = "/home/me/hang", one.stopped = true;
    one.threads = {stack_of({"main", "meet"}), stack_of({"start_thread"})};
    one.threads[1].cut = true, one.threads[0].id = 12, one.threads[0].name = "hang";
    ProcessStacks two;
    two.rank = 4, two.host = "n1", two.why = "no";
    std::vector<ProcessStacks> many{one, two};
    for (Rank rank = 5; rank < 200; ++rank) {
        many.push_back(one);
        many.back().rank = rank;
        many.back().threads.push_back(stack_of({"main", std::string(200, 'x') + std::to_string(rank)}));
    }
    std::string text = lines_of_stacks("n1", many), other = lines_of_stacks("n2", {two});
    std::vector<std::string> lines;
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
        lines.push_back(text.substr(begin, end - begin));
    StackLines all;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) { // in any order
        assert_true(line->size() < 1023);
        all.add(*line);
        all.add("srun: what somebody else says");
    }
    all.add(other.substr(0, other.size() - 1));
    auto back = all.take();
    assert_int_equal(back.size(), many.size() + 1);
    assert_int_equal(back[0].rank, 3);
    assert_int_equal(back[0].pid, 12);
    assert_true(back[0].stopped && back[0].host == "n1" && back[0].executable == "/home/me/hang");
    assert_true(back[0].threads.size() == 2 && back[0].threads[0].frames == one.threads[0].frames);
    assert_true(back[0].threads[0].name == "hang" && back[0].threads[1].cut && !back[0].threads[0].cut);
    assert_string_equal(back[1].why.c_str(), "no");
    StackLines part; // a host whose last word is missing
    for (std::size_t i = 0; i + 1 < lines.size(); ++i)
        part.add(lines[i]);
    assert_true(part.take().empty());
}

static void hosts_words_that_make_no_sense_do_no_harm(void **) {
    for (const char *json : {"", "{", "[]", "7", "{\"processes\":7}", "{\"processes\":[7,{}],\"frames\":7}",
                             "{\"processes\":[{\"rank\":-1,\"host\":7,\"threads\":[{\"frames\":[99,-1,\"x\"]}]}],"
                             "\"frames\":[[1,2,3,4],[]]}",
                             "{\"processes\":[{\"rank\":1,\"host\":\"\\u001b[2J\",\"threads\":7}]}"}) {
        StackLines lines;
        lines.add(std::string("pmixhost-stacks n1 0 1 ") + json);
        for (const auto &process : lines.take()) {
            assert_false(has(process.host, "\x1b"));
            for (const auto &thread : process.threads)
                assert_true(thread.frames.empty());
        }
    }
    StackLines lines;
    for (const char *line : {"pmixhost-stacks", "pmixhost-stacks n1", "pmixhost-stacks n1 0 0 x",
                             "pmixhost-stacks n1 5 3 x", "pmixhost-stacks n1 0 99999999999999999999999 x", ""})
        lines.add(line);
    assert_true(lines.take().empty());
}

static void names_do_no_harm(void **) {
    assert_string_equal(shown_text("a\x1b\n\x7f", 100).c_str(), "a\\x1b\\x0a\\x7f");
    assert_string_equal(shown_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 100).c_str(),
                        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(shown_text("\xc2\x9b"
                                   "1m\xff\xe2\x80\xae\xc0\x80\xed\xa0\x80\xe2",
                                   100)
                            .c_str(),
                        "\\xc2\\x9b1m\\xff\\xe2\\x80\\xae\\xc0\\x80\\xed\\xa0\\x80\\xe2");
    assert_string_equal(shown_text("abcdef", 3).c_str(), "abc...");
    assert_string_equal(shown_text("ab\xe2\x82\xac", 3).c_str(), "ab...");
    ProcessStacks evil;
    evil.rank = 0, evil.host = "<b>", evil.pid = 1, evil.why = "</td>\"'";
    evil.executable = "</script><script>alert(1)</script>";
    evil.threads = {stack_of({"main", "x\"><img src=x onerror=alert(1)>", "</svg><script>"})};
    evil.threads[0].frames[0].file = "<i>&.c";
    ProcessStacks good;
    good.rank = 1, good.host = "n2", good.threads = {stack_of({"main", "meet"})};
    auto report = StackReport::of("<job>", {good, evil}, false);
    for (const std::string &page : {report_html(report), report_svg(report)}) {
        for (const char *tag : {"<script", "<img", "<b>", "<i>", "</td>\"", "<job>", "javascript:", "http://x"})
            assert_false(has(page, tag));
        assert_true(has(page, "&lt;/svg&gt;&lt;script&gt;"));
        assert_true(has(page, "meet"));
    }
    assert_true(has(report_html(report), "<td>0</td>") && has(report_html(report), "<td>1</td>"));
    assert_true(has(report_text(report, {}), "not shown: 0  <b>: </td>\"'"));
    assert_true(nlohmann::json::accept(report_json(report)));
}

// So many ranks, each in one of so many functions.
static StackReport report_of(Rank ranks, unsigned functions) {
    std::vector<ProcessStacks> processes(ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
        processes[rank].rank = rank;
        processes[rank].host = "n1";
        processes[rank].threads = {stack_of({"main", fmt::format("function_number_{}", rank % functions), "wait"})};
    }
    processes[0].why = "it was in a hurry";
    return StackReport::of("job", std::move(processes), false);
}

static std::size_t count_in(const std::string &text, std::string_view word) {
    std::size_t count = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1))
        ++count;
    return count;
}

static void a_page_stays_readable(void **) {
    std::string few = report_html(report_of(40, 2)), many = report_html(report_of(40, 13));
    assert_true(has(few, ">20 ranks: 0,2,4,6,8,10,12,14,...<"));
    assert_true(has(few, "title=\"20 ranks: 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38\""));
    assert_true(has(few, ">40 ranks: 0-39<") && has(report_html(report_of(2, 2)), ">rank 1<"));
    assert_int_equal(count_in(few, "<details open"), 3);
    assert_int_equal(count_in(many, "<details open"), 1);
    assert_int_equal(count_in(many, "<details class=\"differs\""), 13);
    // What is to be known of a process comes before all of them.
    assert_int_equal(count_in(few, "it was in a hurry"), 2);
    assert_true(few.find("it was in a hurry") < few.find("<details class=\"all\""));
}

// A letter of the picture's font is six tenths of its height wide.
static void what_stands_in_a_picture_fits(void **) {
    for (unsigned functions : {2u, 13u, 40u, 200u}) {
        std::string picture = report_svg(report_of(200, functions));
        std::regex call("width=\"([0-9.]+)\" height[^>]*><text[^>]*>([^<]*)<");
        std::size_t calls = 0, labels = 0;
        for (std::sregex_iterator one(picture.begin(), picture.end(), call), end; one != end; ++one) {
            ++calls;
            labels += (*one)[2].length() > 0;
            if (static_cast<double>((*one)[2].length()) * 6.6 > std::stod((*one)[1]))
                fail_msg("'%s' is wider than %s", (*one)[2].str().c_str(), (*one)[1].str().c_str());
        }
        assert_int_equal(calls, 1 + 2 * functions);
        assert_true(functions > 13 || labels == calls);
    }
    assert_true(has(report_svg(report_of(4, 2)), ">function_number_1 (2 ranks: 1,3)<"));
}

static void text_shows_who_is_elsewhere(void **) {
    std::vector<ProcessStacks> processes(4);
    for (Rank rank = 0; rank < 4; ++rank) {
        processes[rank].rank = rank;
        processes[rank].host = rank < 2 ? "n1" : "n2";
        processes[rank].threads = {rank == 0   ? stack_of({"main", "waits", "read"})
                                   : rank == 3 ? ThreadStack{}
                                               : stack_of({"main", "meets", "barrier"})};
    }
    processes[3].threads.clear();
    processes[3].why = "it does not run (terminated)";
    processes[1].stopped = true;
    auto report = StackReport::of("slurm.1.0", processes, false);
    assert_string_equal(report_text(report, {}).c_str(),
                        "job slurm.1.0: 3 of 4 ranks on 2 hosts, in 2 different places\n"
                        "RANKS  CALLS\n"
                        "0-2    main  hang.c:7\n"
                        "0        + waits  hang.c:7\n"
                        "           read  hang.c:7\n"
                        "1-2      + meets  hang.c:7\n"
                        "           barrier  hang.c:7\n"
                        "stopped by a signal: 1\n"
                        "not shown: 3  n2: it does not run (terminated)\n");
    assert_true(has(report_text(report, {"<", "", "", ">"}), "<+ waits>"));
}

// A child that waits, stopped or not.
static pid_t waiting_child(bool stop) {
    pid_t pid = fork();
    if (pid == 0) {
        if (stop)
            raise(SIGSTOP);
        for (;;)
            pause();
    }
    if (stop)
        assert_int_equal(waitpid(pid, nullptr, WUNTRACED), pid);
    return pid;
}

static void the_process_is_the_right_one(void **) {
    pid_t pid = waiting_child(false);
    auto find = [&](std::uint64_t asked, bool here) { return LookedAt::find({"job", 3, pid, asked, here}); };
    assert_true(find(ticks_now() + 1, true).ok());
    assert_false(find(ticks_now() + 1, false).ok());                      // its environment names no job
    assert_int_equal(find(1, true).failure().kind, ErrorKind::not_found); // began after that
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    assert_false(find(ticks_now() + 1, true).ok()); // has ended
    waitpid(pid, nullptr, 0);
    assert_false(find(ticks_now() + 1, true).ok()); // and is gone
    pid = fork();
    if (pid == 0) {
        const char *environment[] = {"PMIX_NAMESPACE=job", "PMIX_RANK=4", nullptr};
        execle("/bin/sleep", "sleep", "60", nullptr, environment);
        _exit(1);
    }
    auto is_asleep = [&] { return !find(ticks_now() + 1, true).ok(); }; // rank 4 is not rank 3
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_asleep() && std::chrono::steady_clock::now() < limit)
        ;
    assert_true(is_asleep());
    assert_true(LookedAt::find({"job", 4, pid, ticks_now() + 1, false}).ok());
    assert_false(code_files(pid).empty());
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}

// The task is an agent, which has nothing of the rank in its environment, or a script that starts one.
static void of_an_agent_the_rank_is_looked_at(void **) {
    for (bool by_script : {false, true}) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        auto waits = [&ends] {
            close(ends[1]);
            for (;;)
                pause();
        };
        pid_t agent = fork();
        if (agent == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (by_script && fork() != 0)
                waits();
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pid_t child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(ends[1]);
                const char *environment[] = {"PMIX_NAMESPACE=job", "PMIX_RANK=3", nullptr};
                execle("/bin/sleep", "sleep", "60", nullptr, environment);
                _exit(1);
            }
            (void)!write(ends[1], &child, sizeof child);
            waits();
        }
        close(ends[1]);
        pid_t rank = -1;
        assert_int_equal(read(ends[0], &rank, sizeof rank), sizeof rank);
        close(ends[0]);
        auto find = [agent](std::uint32_t expected, bool here) {
            return LookedAt::find({"job", expected, agent, ticks_now() + 1, here});
        };
        auto is_found = [&] {
            auto found = find(3, false);
            return found && found->pid() == rank;
        };
        auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!is_found() && std::chrono::steady_clock::now() < limit)
            ; // until it executes its program
        assert_true(is_found());
        auto other = find(4, true);
        assert_true(other && other->pid() == agent); // nobody below it is of that rank
        assert_false(find(4, false).ok());
        kill(agent, SIGKILL);
        waitpid(agent, nullptr, 0);
    }
}

static void what_was_stopped_stays_so_and_nothing_else(void **) {
    for (bool stopped : {false, true}) {
        pid_t pid = waiting_child(stopped);
        auto target = LookedAt::find({"job", 0, pid, ticks_now() + 1, true});
        assert_true(target.ok());
        assert_int_equal(target->was_stopped(), stopped);
        kill(pid, stopped ? SIGCONT : SIGSTOP); // as a debugger that was killed may leave it
        int status = 0;
        assert_int_equal(waitpid(pid, &status, WUNTRACED | WCONTINUED), pid);
        target->put_right();
        assert_int_equal(waitpid(pid, &status, WUNTRACED | WCONTINUED), pid);
        assert_true(stopped ? WIFSTOPPED(status) : WIFCONTINUED(status));
        assert_int_equal(read_process_stat(pid)->state == 'T', stopped);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(yamas_word_is_explained),
        cmocka_unit_test(gdb_is_understood),
        cmocka_unit_test(what_is_not_gdbs_is_refused),
        cmocka_unit_test(eu_stack_is_understood),
        cmocka_unit_test(same_calls_are_one),
        cmocka_unit_test(files_tell_apart_where_both_are_known),
        cmocka_unit_test(lines_and_libraries_tell_apart),
        cmocka_unit_test(threads_count),
        cmocka_unit_test(many_ranks_are_fast),
        cmocka_unit_test(hosts_words_come_in_one_piece),
        cmocka_unit_test(hosts_words_that_make_no_sense_do_no_harm),
        cmocka_unit_test(names_do_no_harm),
        cmocka_unit_test(a_page_stays_readable),
        cmocka_unit_test(what_stands_in_a_picture_fits),
        cmocka_unit_test(text_shows_who_is_elsewhere),
        cmocka_unit_test(the_process_is_the_right_one),
        cmocka_unit_test(of_an_agent_the_rank_is_looked_at),
        cmocka_unit_test(what_was_stopped_stays_so_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
