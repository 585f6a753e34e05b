// What `pmixhost debug` makes of gdb's words, of its own lines, and of what is typed.
#include "tools/debug/debug_talk.h"
#include "tools/debug/debug_lines.h"
#include "tools/debug/debug_target.h"
#include "tools/debug/debugged_launch.h"
#include "tools/debug/gdb_dialogue.h"
#include "tools/debug/gdb_places.h"
#include "tools/debug/host_debug.h"
#include "tools/debug/line_editor.h"
#include "tools/debug/prompt_words.h"
#include "tools/debug/rank_board.h"
#include "tools/debug/stop_wish.h"

#include "test/unit/check.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace pmixhost;

namespace {

using Kind = GdbEvent::Kind;

// All that it writes while gdb says "done" to each, up to the first one that begins with `until`.
std::string answer_until(GdbDialogue &gdb, std::string said, std::string_view until) {
    for (int i = 0; i < 50 && !said.starts_with(until); ++i) {
        std::string next;
        (void)gdb.on_line("7^done", next);
        said = next;
    }
    return said;
}

GdbDialogue stopped() {
    GdbDialogue gdb;
    std::string write = answer_until(gdb, gdb.begin(12), "7-target-attach 12");
    (void)gdb.on_line("7^done", write);
    (void)gdb.on_line("*stopped,frame={func=\"main\"}", write);
    return gdb;
}

void attaching_comes_behind_the_settings(void **) {
    GdbDialogue gdb;
    std::string first = gdb.begin(12);
    assert_true(first.starts_with("7-gdb-set "));
    assert_string_equal(answer_until(gdb, first, "7-target-attach").c_str(), "7-target-attach 12\n");
    std::string write;
    auto events = gdb.on_line("7^error,msg=\"ptrace: Operation not permitted.\"", write);
    assert_int_equal(events.size(), 1);
    assert_int_equal(events[0].id, GdbDialogue::attach_id);
    assert_true(events[0].kind == Kind::error);
    assert_string_equal(events[0].text.c_str(), "ptrace: Operation not permitted.\n");
}

// At the first instruction no library is there yet, and gdb's question whether one may come is answered with no.
void a_breakpoint_may_wait_for_its_library(void **) {
    GdbDialogue gdb;
    std::string setting = "-gdb-set breakpoint pending on", said = gdb.begin(12);
    while (said != "7" + setting + "\n" && said.starts_with("7-gdb-set ")) {
        std::string next;
        (void)gdb.on_line("7^done", next);
        said = next;
    }
    assert_string_equal(said.c_str(), ("7" + setting + "\n").c_str());
}

void an_answer_is_what_was_said_meanwhile(void **) {
    GdbDialogue gdb = stopped();
    assert_string_equal(gdb.ask(5, "print \"x\"").c_str(), "7-interpreter-exec console \"print \\\"x\\\"\"\n");
    assert_string_equal(gdb.ask(6, "bt").c_str(), ""); // one after the other
    std::string write;
    assert_true(gdb.on_line("~\"$1 = \\\"x\\\"\\n\"", write).empty());
    auto events = gdb.on_line("7^done", write);
    assert_int_equal(events.size(), 1);
    assert_int_equal(events[0].id, 5);
    assert_string_equal(events[0].text.c_str(), "$1 = \"x\"\n");
    assert_string_equal(write.c_str(), "7-interpreter-exec console \"bt\"\n");
    // A breakpoint that cannot be set is a complaint, and no error; an error says itself what it is.
    (void)gdb.on_line("&\"Function \\\"x\\\" not defined.\\n\"", write);
    assert_string_equal(gdb.on_line("7^done", write).at(0).text.c_str(), "Function \"x\" not defined.\n");
    (void)gdb.ask(7, "print y");
    (void)gdb.on_line("&\"No symbol.\\n\"", write);
    assert_string_equal(gdb.on_line("7^error,msg=\"No symbol.\"", write).at(0).text.c_str(), "No symbol.\n");
    // What a program makes gdb say does not answer.
    assert_true(gdb.on_line("8^done", write).empty());
    assert_true(gdb.on_line("^done", write).empty());
}

// Values come in lines that go through whatever carries text for a terminal.
void values_of_the_machine_interface_come_whole(void **) {
    GdbDialogue gdb = stopped();
    assert_string_equal(gdb.ask(5, "-stack-list-variables", GdbLanguage::machine).c_str(), "7-stack-list-variables\n");
    std::string write;
    (void)gdb.on_line("~\"for people\\n\"", write);
    auto events = gdb.on_line("7^done,variables=[{name=\"x\",value=\"\\\"\\t\\177\\303\\244\\033\\\\\"}]", write);
    assert_int_equal(events.size(), 1);
    DebugAssembly assembly;
    std::optional<FromHost> said;
    std::string all = lines_of(RankEvent{3, events[0]});
    for (std::string_view rest = all; !rest.empty();) {
        auto end = rest.find('\n');
        assert_true(end < 1024);
        said = assembly.add(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    auto values = nlohmann::json::parse(std::get<RankEvent>(*said).event.text, nullptr, false);
    assert_true(values["variables"][0]["value"] == "\"\t\x7f\u00e4\033\\");
    // A breakpoint in several places has them behind it without names.
    gdb.ask(6, "-break-insert f", GdbLanguage::machine);
    events = gdb.on_line("7^done,bkpt={number=\"1\",addr=\"<MULTIPLE>\"},{number=\"1.1\"},{number=\"1.2\"}", write);
    assert_int_equal(events.size(), 1);
    assert_true(nlohmann::json::parse(events[0].text)["bkpt"]["number"] == "1");
    events = gdb.on_line("*stopped,reason=\"breakpoint-hit\",bkptno=\"4\",thread-id=\"2\",frame={func=\"f\"}", write);
    assert_string_equal(events[0].reason.c_str(), "breakpoint-hit 4");
    assert_string_equal(events[0].thread.c_str(), "2");
}

void a_process_runs_and_stops(void **) {
    GdbDialogue gdb = stopped();
    (void)gdb.ask(5, "continue");
    std::string write;
    (void)gdb.on_line("~\"Continuing.\\n\"", write);
    auto events = gdb.on_line("7^running", write);
    assert_true(events.size() == 1 && events[0].kind == Kind::runs && gdb.runs());
    (void)gdb.on_line("*running,thread-id=\"all\"", write);
    (void)gdb.on_line("~\"[New Thread 0x7f (LWP 3)]\\n\"", write);
    (void)gdb.on_line("~\"\\nBreakpoint 1, main () at a.c:3\\n\"", write);
    events = gdb.on_line("*stopped,reason=\"breakpoint-hit\",frame={func=\"main\"}", write);
    assert_true(events.size() == 1 && events[0].kind == Kind::stopped && events[0].id == 0 && !gdb.runs());
    assert_string_equal(events[0].text.c_str(), "\nBreakpoint 1, main () at a.c:3\n");
    // A stop that gdb has no words for.
    events = gdb.on_line("*stopped,reason=\"signal-received\",signal-name=\"SIGBUS\",signal-meaning=\"Bus error\","
                         "frame={func=\"f\",file=\"b.c\",line=\"7\"}",
                         write);
    assert_string_equal(events[0].text.c_str(), "received signal SIGBUS (Bus error)\nf () at b.c:7\n");
}

void what_gdb_itself_lets_run_is_told(void **) {
    GdbDialogue gdb = stopped();
    std::string write;
    assert_true(gdb.on_line("~\"$1 = 5\\n\"", write).empty());
    auto events = gdb.on_line("*running,thread-id=\"all\"", write);
    assert_int_equal(events.size(), 1);
    assert_true(events[0].id == 0 && events[0].kind == Kind::runs && gdb.runs());
    assert_string_equal(events[0].text.c_str(), "$1 = 5\n");
    assert_true(gdb.on_line("*running,thread-id=\"2\"", write).empty()); // it does already
}

void an_end_is_told_once(void **) {
    GdbDialogue gdb = stopped();
    (void)gdb.ask(5, "continue");
    std::string write;
    (void)gdb.on_line("7^running", write);
    assert_true(gdb.on_line("=thread-group-exited,id=\"i1\",exit-code=\"03\"", write).empty());
    (void)gdb.on_line("~\"[Inferior 1 (process 12) exited with code 03]\\n\"", write);
    auto events = gdb.on_line("*stopped,reason=\"exited\",exit-code=\"03\"", write);
    assert_true(events.size() == 1 && events[0].kind == Kind::gone);
    assert_string_equal(events[0].text.c_str(), "[Inferior 1 (process 12) exited with code 03]\n");
    // By a command.
    GdbDialogue other = stopped();
    (void)other.ask(5, "kill");
    events = other.on_line("=thread-group-exited,id=\"i1\"", write);
    assert_true(events.size() == 1 && events[0].kind == Kind::gone);
    assert_true(other.on_line("*stopped,reason=\"exited-signalled\"", write).empty());
}

// All that these lines of gdb's tell.
std::vector<GdbEvent> told(GdbDialogue &gdb, std::initializer_list<const char *> lines) {
    std::vector<GdbEvent> out;
    std::string write;
    for (const char *line : lines) {
        for (auto &event : gdb.on_line(line, write))
            out.push_back(std::move(event));
    }
    return out;
}

GdbDialogue running() {
    GdbDialogue gdb = stopped();
    (void)gdb.ask(5, "continue");
    assert_true(told(gdb, {"=thread-group-added,id=\"i1\"", "=thread-group-started,id=\"i1\",pid=\"12\"",
                           "=thread-created,id=\"1\",group-id=\"i1\"", "7^running", "*running,thread-id=\"all\""})
                    .size() == 1);
    assert_int_equal(gdb.inferiors().now(), 12);
    return gdb;
}

// "set follow-fork-mode child", in gdb 13's words; a command that waits meanwhile changes nothing.
void a_child_is_followed(void **) {
    for (bool waits : {false, true}) {
        GdbDialogue gdb = running();
        if (waits)
            (void)gdb.ask(6, "bt");
        auto events = told(gdb, {"=thread-group-added,id=\"i2\"", "=thread-group-started,id=\"i2\",pid=\"34\"",
                                 "=thread-created,id=\"2\",group-id=\"i2\"", "=thread-exited,id=\"1\",group-id=\"i1\"",
                                 "=thread-group-exited,id=\"i1\"", "~\"[Inferior 1 (process 12) detached]\\n\""});
        assert_true(events.empty() && gdb.runs());
        assert_true(told(gdb, {"*running,thread-id=\"2\""}).empty() && gdb.runs());
        assert_int_equal(gdb.inferiors().now(), 34);
        events =
            told(gdb, {"=thread-exited,id=\"2\",group-id=\"i2\"", "=thread-group-exited,id=\"i2\",exit-code=\"03\"",
                       "*stopped,reason=\"exited\",exit-code=\"03\""});
        assert_true(events.size() == 1 && events[0].kind == Kind::gone && !gdb.runs());
        assert_int_equal(gdb.inferiors().now(), 0);
    }
}

// "set detach-on-fork off": the parent stands while the child runs, and is still there when that has ended.
void a_parent_may_be_held_as_well(void **) {
    GdbDialogue gdb = running();
    assert_true(told(gdb, {"=thread-group-added,id=\"i2\"", "=thread-group-started,id=\"i2\",pid=\"34\"",
                           "=thread-created,id=\"2\",group-id=\"i2\""})
                    .empty());
    assert_int_equal(gdb.inferiors().now(), 12); // as if the parent were followed
    (void)told(gdb, {"*running,thread-id=\"2\""});
    assert_int_equal(gdb.inferiors().now(), 34);
    assert_true(gdb.inferiors().all() == (std::vector<pid_t>{12, 34}));
    auto events =
        told(gdb, {"~\"[Inferior 2 (process 34) exited with code 03]\\n\"", "=thread-exited,id=\"2\",group-id=\"i2\"",
                   "=thread-group-exited,id=\"i2\",exit-code=\"03\"", "*stopped,reason=\"exited\",exit-code=\"03\""});
    assert_true(events.size() == 1 && events[0].kind == Kind::stopped && !gdb.runs());
    assert_string_equal(events[0].text.c_str(), "[Inferior 2 (process 34) exited with code 03]\n");
    // What a command lets go of is not all, either.
    (void)gdb.ask(6, "kill inferiors 2");
    assert_true(
        told(gdb, {"=thread-group-started,id=\"i2\",pid=\"56\"", "=thread-group-exited,id=\"i2\"", "7^done"}).size() ==
        1);
    (void)gdb.ask(7, "detach");
    events = told(gdb, {"=thread-group-exited,id=\"i1\""});
    assert_true(events.size() == 1 && events[0].kind == Kind::gone);
}

// "set follow-exec-mode new": gdb says nothing of the process, which is the same.
void a_program_that_becomes_another_goes_on(void **) {
    for (bool waits : {false, true}) {
        GdbDialogue gdb = running();
        if (waits)
            (void)gdb.ask(6, "bt");
        auto events = told(gdb, {"=thread-group-added,id=\"i2\"", "=thread-exited,id=\"1\",group-id=\"i1\"",
                                 "=thread-group-exited,id=\"i1\"", "=thread-created,id=\"2\",group-id=\"i2\""});
        assert_true(events.empty() && gdb.runs());
        assert_int_equal(gdb.inferiors().now(), 12);
    }
    // One that somebody has added beforehand is no such.
    GdbDialogue gdb = stopped();
    (void)gdb.ask(5, "clone-inferior");
    (void)told(gdb, {"=thread-group-added,id=\"i2\"", "7^done"});
    (void)gdb.ask(6, "kill");
    auto events = told(gdb, {"=thread-group-exited,id=\"i1\"", "7^done"});
    assert_true(events.size() == 2 && events[1].kind == Kind::gone);
}

// Ctrl-C that comes before gdb has let the process run is for that, with no second one.
void a_wish_to_stop_waits_for_the_command(void **) {
    using Act = StopWish::Act;
    StopWish::Time now{};
    StopWish wish;
    GdbDialogue gdb = stopped();
    assert_true(wish.wanted(gdb, now) == Act::nothing && !wish.is_due()); // it stands, and nothing is under way
    (void)gdb.ask(5, "print 1");
    (void)gdb.ask(6, "continue");
    assert_true(wish.wanted(gdb, now) == Act::nothing && wish.is_due());
    (void)told(gdb, {"7^done"});
    assert_true(wish.look(gdb, now) == Act::nothing);
    (void)told(gdb, {"7^running"});
    assert_true(wish.look(gdb, now) == Act::stop_process && !wish.is_due());
    assert_true(wish.look(gdb, now) == Act::nothing); // once
    assert_true(wish.wanted(gdb, now) == Act::stop_process);
    // One that takes long is given up, once; what is said later is not meant.
    gdb = stopped();
    (void)gdb.ask(5, "call (int)sleep(1000)");
    (void)wish.wanted(gdb, now);
    assert_true(wish.look(gdb, now + StopWish::to_let_it_run / 2) == Act::nothing && wish.is_due());
    assert_true(wish.look(gdb, now + StopWish::to_let_it_run) == Act::interrupt_gdb && !wish.is_due());
    assert_true(wish.look(gdb, now + 2 * StopWish::to_let_it_run) == Act::nothing);
    (void)gdb.ask(6, "continue");
    (void)told(gdb, {"7^error,msg=\"Quit\""});
    assert_true(wish.look(gdb, now) == Act::nothing);
    (void)told(gdb, {"7^running"});
    assert_true(wish.look(gdb, now) == Act::nothing);
}

void what_is_no_line_of_gdb_changes_nothing(void **) {
    GdbDialogue gdb = stopped();
    std::string write;
    for (const char *line :
         {"", "7^", "*stopped,reason=", "~\"", "=thread-group-exited,id=", "\x80\xff", "7^done,bkpt={"})
        assert_true(gdb.on_line(line, write).empty() || std::string(line) == "7^");
    assert_string_equal(write.c_str(), "");
}

// What gdb's Python, or a command of the shell that it runs, writes comes between gdb's own words.
void an_answer_stands_behind_words_that_are_none(void **) {
    GdbDialogue gdb = stopped();
    std::string write = gdb.ask(2, "python os.system('printf hello')");
    assert_string_equal(gdb.ask(3, "bt").c_str(), "");
    for (const char *line : {"a line of it", "hello7^do", "hello6^done", "hello7^nothing", "17^x 7^"})
        assert_true(gdb.on_line(line, write).empty());
    write.clear();
    auto out = gdb.on_line("hello 7^7^done", write);
    assert_int_equal(out.size(), 1);
    assert_int_equal(out[0].id, 2);
    assert_int_equal(out[0].kind, GdbEvent::Kind::done);
    assert_true(write.find("bt") != write.npos); // the next one is said
    (void)gdb.ask(4, "python os.system('nproc')");
    out = gdb.on_line("87^done", write);
    assert_int_equal(out.size(), 1);
    assert_int_equal(out[0].id, 3);
    out = gdb.on_line("x7^error,msg=\"7^done\"", write);
    assert_int_equal(out.size(), 1);
    assert_int_equal(out[0].kind, GdbEvent::Kind::error);
    assert_string_equal(out[0].text.c_str(), "7^done\n");
    assert_true(gdb.on_line("x7^done", write).empty()); // nothing was asked
}

// Through the lines that go between hosts.
std::vector<FromHost> through(const std::string &lines) {
    DebugAssembly assembly;
    std::vector<FromHost> out;
    std::string_view rest = lines;
    while (!rest.empty()) {
        auto end = rest.find('\n');
        assert_true(end != rest.npos && end < 1024);
        if (auto said = assembly.add(rest.substr(0, end)))
            out.push_back(std::move(*said));
        rest.remove_prefix(end + 1);
    }
    assert_int_equal(assembly.strange(), 0);
    return out;
}

void events_come_through_short_lines(void **) {
    std::string text = "a\n\n" + std::string(3000, '"') + "\n\tb\x1b[31m\n";
    auto out = through(lines_of(RankEvent{7, {9, Kind::stopped, text}, false}));
    assert_int_equal(out.size(), 1);
    const auto &event = std::get<RankEvent>(out[0]);
    assert_true(event.rank == 7 && event.event.id == 9 && event.event.kind == Kind::stopped && !event.refused);
    // Nothing that a terminal obeys.
    assert_string_equal(event.event.text.c_str(),
                        ("a\n\n" + std::string(3000, '"') + "\n        b\\x1b[31m\n").c_str());
    auto refused = through(lines_of(RankEvent{1, {0, Kind::error, "no\n"}, true}));
    assert_true(std::get<RankEvent>(refused[0]).refused);
}

void a_host_names_its_ranks(void **) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < 1000; ++rank)
        ranks.push_back(rank * 4000000);
    auto out = through(hello_line("n1", ranks));
    assert_int_equal(out.size(), 1);
    assert_true(std::get<HostHello>(out[0]).ranks == ranks);
}

void other_words_of_a_host_are_left_out(void **) {
    DebugAssembly assembly;
    for (const char *line :
         {"", "Welcome to n1", "[]", "{}", "{\"rank\":-1,\"end\":\"done\"}", "{\"rank\":99999999999}"})
        assert_false(assembly.add(line).has_value());
    assert_true(assembly.strange() >= 4);
}

void commands_come_through(void **) {
    auto command = parse_to_host(line_of(DebugCommand{5, std::vector<Rank>{0, 1, 2, 7}, "print \"x\""}));
    assert_true(command.ok());
    const auto &it = std::get<DebugCommand>(*command);
    assert_true(it.id == 5 && *it.ranks == (std::vector<Rank>{0, 1, 2, 7}) && it.text == "print \"x\"");
    assert_false(std::get<DebugInterrupt>(*parse_to_host(line_of(DebugInterrupt{}))).ranks.has_value());
    assert_true(std::holds_alternative<DebugLeave>(*parse_to_host(line_of(DebugLeave()))));
    assert_true(std::holds_alternative<DebugAlive>(*parse_to_host(line_of(DebugAlive()))));
    for (const char *line : {"", "1", "{\"say\":\"bt\"}", "{\"say\":\"bt\",\"id\":1}", "{\"say\":\"a\\nb\",\"id\":5}",
                             "{\"say\":\"bt\",\"id\":5,\"ranks\":\"x\"}", "{\"say\":\"bt\",\"id\":5,\"ranks\":7}"})
        assert_false(parse_to_host(line).ok());
    assert_false(parse_to_host("{\"id\":5,\"say\":\"" + std::string(longest_debug_command + 1, 'x') + "\"}").ok());
}

template <typename Word> bool is(const char *line) {
    return std::holds_alternative<Word>(parse_prompt(line));
}

void our_words_are_few(void **) {
    assert_true(is<PromptNothing>("  ") && is<PromptNothing>("# a remark"));
    assert_true(is<PromptQuit>("q") && is<PromptQuit>("quit") && !std::get<PromptQuit>(parse_prompt("exit")).kills);
    assert_true(std::get<PromptQuit>(parse_prompt("quit kill")).kills);
    assert_string_equal(std::get<PromptInput>(parse_prompt(" input two  words ")).text.c_str(), "two  words \n");
    assert_string_equal(std::get<PromptInput>(parse_prompt("input   - a\r")).text.c_str(), "  - a\n");
    assert_string_equal(std::get<PromptInput>(parse_prompt("input")).text.c_str(), "\n");
    assert_true(std::get<PromptInput>(parse_prompt("eof")).ends);
    assert_true(is<PromptRefused>(("input " + std::string(2001, 'x')).c_str()) && is<PromptSay>("eof now"));
    assert_true(is<PromptRefused>("quit now"));
    // gdb ends by the beginnings of its words as well, and by "quit(1)".
    assert_true(is<PromptQuit>("qui") && is<PromptQuit>("exi") && is<PromptSay>("queue-signal 0"));
    assert_true(std::get<PromptQuit>(parse_prompt("qui kill")).kills);
    assert_true(is<PromptRefused>("quit(1)") && is<PromptRefused>("exi/1"));
    assert_true(*std::get<PromptFocus>(parse_prompt("focus 3,0-1")).ranks == (std::vector<Rank>{0, 1, 3}));
    assert_false(std::get<PromptFocus>(parse_prompt("all")).ranks.has_value());
    assert_false(std::get<PromptFocus>(parse_prompt("focus all")).ranks.has_value());
    assert_true(is<PromptRefused>("focus") && is<PromptRefused>("focus a"));
    for (const char *line :
         {"commands 1", "shell rm", "!ls", "python", "attach 1", "target remote x", "define f", "comm 1", "shel ls",
          "py", "docu f", "run", "r", "start", "run 1 2",
          // gdb takes the beginning of a word, and ends it where it is none any more
          "att 1", "at 1", "attach/1", "targ remote x", "ed", "edi f", "she ls", "compi code x", "mak", "lay src",
          "new-u", "interp mi x", "add-i", "if(x)", "whil 1", "run/x",
          // the shell's
          "| bt | grep x", "|bt|cat", "pipe bt | cat", "pip bt | cat", "pipe -d @ bt @ cat",
          // by another command
          "with print pretty on -- run", "with language c -- with print pretty on -- quit", "w lang c --r",
          "thread apply all run", "thread apply 1 2-3 -q -s start", "t ap all -ascending quit", "taas -q run",
          "tfaas r", "faas run", "frame apply all run", "frame apply level 0 1 run",
          "frame apply all -past-main off run", "frame apply all -past-m of -q -past-entry y run",
          "frame apply 2 -past-main 0 run", "faas -past-main disable run",
          "thread apply all with print pretty on -- starti", "thread apply all shell ls"})
        assert_true(is<PromptRefused>(line));
    for (const char *line : {"python print(1)",
                             "py print(1)",
                             "return",
                             "quiet",
                             "ranks_of(3)",
                             "interruptible",
                             "x/4i $pc",
                             "help break",
                             "p 1|2",
                             "next",
                             "detach",
                             "info target",
                             "do",
                             "disable",
                             "te",
                             "with print pretty on -- print run",
                             "with print pretty on",
                             "thread apply all bt",
                             "thread apply all print start",
                             "frame apply all -past-main off print run",
                             "frame apply all off run",
                             "thread 1",
                             "thread name run",
                             "frame 1",
                             "frame function run",
                             "taas print r",
                             "thread apply",
                             "with"})
        assert_true(is<PromptSay>(line));
    assert_true(std::get<PromptSay>(parse_prompt("  continue &  ")).background);
    assert_string_equal(std::get<PromptSay>(parse_prompt(" bt 3\t")).text.c_str(), "bt 3");
    assert_true(is<PromptRefused>(std::string(longest_debug_command + 1, 'x').c_str()));
    assert_true(own_words("fo") == std::vector<std::string>{"focus"});
}

// An empty line, as at gdb's own prompt.
void a_step_is_taken_once_more(void **) {
    for (const char *step : {"next", "n", "step 3", "s", "ni", "stepi", "up", "down 2", "next &"})
        assert_string_equal(once_more(step).c_str(), step);
    assert_string_equal(once_more(" list 10,20 ").c_str(), "list");
    assert_string_equal(once_more("x/4xw buffer").c_str(), "x");
    assert_string_equal(once_more(once_more("l main")).c_str(), "l");
    for (const char *other : {"", "  ", "continue", "c", "finish", "until 7", "print i++", "kill", "focus 1", "wait",
                              "delete", "set x = 1", "next-nonsense", "exit", "input n"})
        assert_string_equal(once_more(other).c_str(), "");
}

// What stands behind srun's program is the program's.
void what_is_launched_is_not_read_behind_its_program(void **) {
    auto is_refused = [](std::vector<std::string> words) {
        words.insert(words.begin(), "/usr/bin/srun");
        return !may_be_launched(words).ok();
    };
    for (const auto &words : std::vector<std::vector<std::string>>{{"-n1", "app", "--pty"},
                                                                   {"-n", "1", "app", "--pty=x"},
                                                                   {"-On", "1", "-K1", "-vv", "app", "--pty"},
                                                                   {"--ntasks", "1", "--exclusive", "app", "--pty"},
                                                                   {"--mpi=pmixhost", "--label", "app", "--pty"},
                                                                   {"-n1", "--", "app", "--pty"},
                                                                   {"-I", "app", "--pty"},
                                                                   {"--unbuf", "app", "--pty"},
                                                                   {"--exclus", "--lab", "app", "--pt"},
                                                                   {"app"},
                                                                   {"-n"},
                                                                   {}})
        assert_false(is_refused(words));
    for (const auto &words : std::vector<std::vector<std::string>>{{"--pty", "app"},
                                                                   {"-n1", "--pty", "app"},
                                                                   {"-n", "1", "--overlap", "--pty=0", "app"},
                                                                   {"--of-a-plugin", "--pty", "app"},
                                                                   {"--of-a-plugin", "x", "--pty", "app"},
                                                                   {"-y", "x", "--pty", "app"},
                                                                   // the beginning of a name is one as well
                                                                   {"--pt", "app"},
                                                                   {"--unbuf", "--pt=0", "app"},
                                                                   // and may be that of another option
                                                                   {"--wait", "5", "--pty", "app"},
                                                                   {"--par", "debug", "--pty", "app"},
                                                                   // srun reads on for that
                                                                   {"-n1", "app", ":", "-n1", "app"}})
        assert_true(is_refused(words));
    assert_false(may_be_launched({"sh", "-c", "srun app"}).ok());
}

// Who thinks before the next line is there, still.
void a_line_may_be_long_in_coming(void **) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int kept = dup(STDIN_FILENO);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    int idle = 0;
    LineEditor editor({[](const std::string &) { return std::vector<std::string>(); }, [] { return -1; }, [] {},
                       [&] {
                           if (++idle == 3)
                               assert_int_equal(write(ends[1], "next\n", 5), 5);
                       },
                       std::chrono::milliseconds(5), [] { return false; }});
    auto line = editor.read("");
    assert_true(line && *line == "next" && idle >= 3 && !editor.cut());
    close(ends[1]);
    assert_false(editor.read("").has_value());
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
}

// A signal that comes between two waits is heard at the next one; with no input, it would be for ever.
void an_interrupt_is_not_lost_between_waits(void **) {
    int input[2], wake[2];
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(wake), 0);
    int kept = dup(STDIN_FILENO);
    assert_int_equal(dup2(input[0], STDIN_FILENO), STDIN_FILENO);
    std::atomic<bool> interrupted = true;
    auto take = [&] { return interrupted.exchange(false); };
    LineEditor editor({[](const std::string &) { return std::vector<std::string>(); }, [] { return -1; }, [] {},
                       [] { fail_msg("it waits"); }, std::chrono::seconds(10), take, wake[0]});
    assert_string_equal(editor.read("")->c_str(), "");
    assert_true(editor.cut());
    std::thread signal([&] {
        interrupted = true;
        assert_int_equal(write(wake[1], "", 1), 1);
    });
    assert_string_equal(editor.read("")->c_str(), "");
    signal.join();
    assert_true(editor.cut());
    assert_int_equal(write(input[1], "\n", 1), 1);
    assert_string_equal(editor.read("")->c_str(), "");
    assert_false(editor.cut()); // an empty line, which somebody has said
    dup2(kept, STDIN_FILENO);
    for (int fd : {kept, input[0], input[1], wake[0], wake[1]})
        close(fd);
}

void what_is_the_same_is_said_once(void **) {
    auto merged = merged_texts({{3, "a\n"}, {0, "b\n"}, {1, "a\n"}, {2, "a\n"}, {4, " \n"}});
    assert_string_equal(shown_texts(merged).c_str(), "[0] b\n[1-3] a\n");
    merged = merged_texts({{0, "#0  0x7f0012345678 in x ()\n"}, {1, "#0  0x7f0012345678 in x ()\n"}});
    assert_string_equal(shown_texts(merged).c_str(), "[0-1] #0  0x7f0012345678 in x ()\n");
    assert_string_equal(shown_texts(merged_texts({{1, "\na\nb\n"}}), "<", ">").c_str(), "<[1]>\na\nb\n");
}

// What two ranks say as one answer; empty: it is two.
std::string one_answer(const std::string &first, const std::string &second) {
    auto merged = merged_texts({{0, first}, {1, second}});
    if (merged.size() == 1)
        return merged[0].text;
    assert_true(merged.size() == 2 && merged[0].text == first && merged[1].text == second); // each has its own
    return {};
}

void ranks_at_one_place_give_one_answer(void **) {
    struct Case {
        const char *first, *second, *shown;
    };
    const Case cases[] = {
        {"#0  f (s=0x7fffcd9d0800 \"a \\\" 0x7f0012345678\", n=3) at t.c:7\n#10 0x0000556100000111 in main () at "
         "t.c:9\n",
         "#0  f (s=0x7fff00000000 \"a \\\" 0x7f0012345678\", n=3) at t.c:7\n#10 0x0000561200000111 in main () at "
         "t.c:9\n",
         "#0  f (s=0x.. \"a \\\" 0x7f0012345678\", n=3) at t.c:7\n#10 0x.. in main () at t.c:9\n"},
        {"#0  g (c=34 '\"', p=0x7fff12345678) at t.c:7\n", "#0  g (c=34 '\"', p=0x7ffe12345678) at t.c:7\n",
         "#0  g (c=34 '\"', p=0x..) at t.c:7\n"},
        {"0x00007f0012345678 in PMPI_Barrier () from libmpi.so.40\n",
         "0x00007f0087654321 in PMPI_Barrier () from libmpi.so.40\n", "0x.. in PMPI_Barrier () from libmpi.so.40\n"},
        {"std::vector<int>::at (this=0x7ffe12345678) at v.h:3\n3\t  x\n",
         "std::vector<int>::at (this=0x7fff12345678) at v.h:3\n3\t  x\n",
         "std::vector<int>::at (this=0x..) at v.h:3\n3\t  x\n"},
        {"0x0000556100000111\t7\t  f();\n", "0x0000561200000111\t7\t  f();\n", "0x..\t7\t  f();\n"},
        {"Thread 1 \"t\" hit Breakpoint 1, f (p=0x7ffe12345678) at t.c:7\n",
         "Thread 1 \"t\" hit Breakpoint 1, f (p=0x7fff12345678) at t.c:7\n",
         "Thread 1 \"t\" hit Breakpoint 1, f (p=0x..) at t.c:7\n"},
        {"[Switching to Thread 0x7f0012345678 (LWP 12)]\n", "[Switching to Thread 0x7f0087654321 (LWP 345)]\n",
         "[Switching to Thread 0x.. (LWP ..)]\n"},
        {"  Id   Target Id                          Frame \n* 1    Thread 0x7f0012345678 (LWP 12) \"t\"  main () at "
         "t.c:1\n",
         "  Id   Target Id                            Frame \n* 1    Thread 0x7f0012340000 (LWP 1234) \"t\" main () at "
         "t.c:1\n",
         "  Id Target Id Frame \n* 1 Thread 0x.. (LWP ..) \"t\" main () at t.c:1\n"},
        {"[Inferior 1 (process 12) exited normally]\n", "[Inferior 1 (process 345) exited normally]\n",
         "[Inferior 1 (process ..) exited normally]\n"},
        {"process 12 is executing new program: /bin/a\n", "process 13 is executing new program: /bin/a\n",
         "process .. is executing new program: /bin/a\n"},
        {"Breakpoint 2 at 0x556100000111: file t.c, line 7.\n", "Breakpoint 2 at 0x561200000111: file t.c, line 7.\n",
         "Breakpoint 2 at 0x..: file t.c, line 7.\n"},
        {"1       breakpoint     keep y   0x0000556100000111 in f at t.c:7\n1.2                         y   "
         "0x0000556100000222 in f at t.c:8\n",
         "1       breakpoint     keep y   0x0000561200000111 in f at t.c:7\n1.2                         y   "
         "0x0000561200000222 in f at t.c:8\n",
         "1       breakpoint     keep y   0x.. in f at t.c:7\n1.2                         y   0x.. in f at t.c:8\n"},
        {"0x00007f0012345678  0x00007f0012349999  Yes         /lib/a.so\n",
         "0x00007f0112345678  0x00007f0112349999  Yes         /lib/a.so\n", "0x..  0x..  Yes         /lib/a.so\n"},
        // Of a call without a name the place in its page is known.
        {"#1  0x0000556100000111 in ?? ()\n", "#1  0x0000561200000111 in ?? ()\n", "#1  0x..111 in ?? ()\n"},
        {"0x0000556100000111 ()\n", "0x0000561200000111 ()\n", "0x..111 ()\n"},
        {"=> 0x5561ef52316c <f+19>:\tmov    $0x12345678,%eax\n   0x5561ef523171 <f+24>:\tcall   0x5561ef523030 "
         "<puts@plt>\n",
         "=> 0x5612ef52316c <f+19>:\tmov    $0x12345678,%eax\n   0x5612ef523171 <f+24>:\tcall   0x5612ef523030 "
         "<puts@plt>\n",
         "=> 0x.. <f+19>:\tmov    $0x12345678,%eax\n   0x.. <f+24>:\tcall   0x.. <puts@plt>\n"},
        // Who was asked less often counts its values otherwise.
        {"$3 = 42\n", "$12 = 42\n", "$.. = 42\n"},
        {"main () at t.c:15\nValue returned is $1 = 0x7f0012345678\n",
         "main () at t.c:15\nValue returned is $2 = 0x7f0012345678\n",
         "main () at t.c:15\nValue returned is $.. = 0x7f0012345678\n"},
    };
    for (const auto &one : cases)
        assert_string_equal(one_answer(one.first, one.second).c_str(), one.shown);
}

void data_that_differs_is_shown_of_each(void **) {
    const std::pair<const char *, const char *> cases[] = {
        {"$1 = 0xdeadbeef\n", "$1 = 0xdeadbee0\n"},
        {"$1 = (int *) 0x7f0012345678\n", "$1 = (int *) 0x12345678\n"},
        {"0x7fffcd9d0800:\t0x6c6c6568\t0x7822206f\n", "0x7fffcd9d0800:\t0x6c6c6568\t0x7822206e\n"},
        {"0x7fffcd9d0800 <buf>:\t0x6c6c6568\n", "0x7fffcd9d0800 <buf>:\t0x6c6c6569\n"},
        {"rip            0x55f4ce0ad254      0x55f4ce0ad254 <main+171>\n",
         "rip            0x55f5ce0ad254      0x55f5ce0ad254 <main+171>\n"},
        {"p = 0x7f0012345678\n", "p = 0x7f0012345679\n"},
        {"1: p = (char *) 0x7f0012345678\n", "1: p = (char *) 0x7f0012345679\n"},
        {"Old value = (int *) 0x7f0012345678\n", "Old value = (int *) 0x7f0012345679\n"},
        {"Cannot access memory at address 0x7f0012345678\n", "Cannot access memory at address 0x123456789\n"},
        {"#0  f (n=1) at t.c:7\n        p = 0x7f0012345678\n", "#0  f (n=1) at t.c:7\n        p = 0x7f0012345679\n"},
        {"#0  f (s=0x7fff12345678 \"0x12345678\") at t.c:7\n", "#0  f (s=0x7fff12345678 \"0x12345679\") at t.c:7\n"},
        {"#0  f (p=0x0) at t.c:7\n", "#0  f (p=0x7f0012345678) at t.c:7\n"},
        {"0x0000000000000008 in ?? ()\n", "0x0000556100000111 in ?? ()\n"},
        {"#1  0x0000556100000111 in ?? ()\n", "#1  0x0000556100000112 in ?? ()\n"},
        {"   0x5561ef52316c <f+19>:\tmov    $0x12345678,%eax\n",
         "   0x5561ef52316c <f+19>:\tmov    $0x12345679,%eax\n"},
        {"flags = 0x10\n", "flags = 0x20\n"},
        {"pid = \"process 12\"\n", "pid = \"process 13\"\n"},
        {"process 12\n", "process 13\n"},
    };
    for (const auto &[first, second] : cases)
        assert_string_equal(one_answer(first, second).c_str(), "");
    // Whatever it is, it is gone through to its end.
    for (const char *text :
         {"", "\n", "$", "$1 = ", "#", "#1", "0x", "   0x", "=> ", "\"", "#0  f (\"\\", "[", "Value returned is "})
        assert_string_equal(without_places(text).c_str(), std::string_view(text) == "$1 = " ? "$.. = " : text);
}

FromHost event(Rank rank, std::uint64_t id, Kind kind, const char *text) {
    return RankEvent{rank, {id, kind, text}, false};
}

void the_board_follows_each_rank(void **) {
    RankBoard board({0, 1, 2});
    board.on(event(0, 0, Kind::stopped, "here\n"));
    board.on(event(1, 0, Kind::stopped, "here\n"));
    board.on(event(9, 0, Kind::stopped, "nobody's\n"));
    assert_false(board.all_known());
    board.on(RankEvent{2, {0, Kind::error, "no gdb\n"}, true});
    assert_true(board.all_known());
    assert_int_equal(board.take_events().size(), 3);
    assert_true(board.alive(std::nullopt) == (std::vector<Rank>{0, 1}));
    assert_true(board.alive(std::vector<Rank>{1, 2}) == std::vector<Rank>{1});
    board.ask(5, {0, 1});
    board.on(event(0, 4, Kind::done, "late\n")); // of a question before
    assert_false(board.answered());
    board.on(event(0, 5, Kind::runs, "Continuing.\n"));
    board.on(event(1, 5, Kind::error, "no\n"));
    assert_true(board.answered());
    assert_true(board.running(std::nullopt) == std::vector<Rank>{0});
    assert_true(board.some_run_by_it());
    assert_int_equal(board.take_answers().size(), 2);
    board.on(event(0, 0, Kind::stopped, "there\n"));
    assert_true(board.running(std::nullopt).empty() && !board.some_run_by_it());
    // By a command of a breakpoint's: what is asked meanwhile has not let it run.
    board.ask(6, {1});
    board.on(event(0, 0, Kind::runs, "$1 = 5\n"));
    assert_true(board.running(std::nullopt) == std::vector<Rank>{0} && !board.some_run_by_it());
    board.on(event(0, 0, Kind::stopped, "there\n"));
    assert_int_equal(board.take_events().size(), 1);
    // Who ends does not answer any more.
    board.ask(6, {0, 1});
    board.on(event(0, 5, Kind::runs, "")); // of a question before, and so it is
    assert_true(board.running(std::nullopt) == std::vector<Rank>{0});
    assert_false(board.answered());
    board.on(event(0, 0, Kind::gone, "ended\n"));
    assert_true(board.unanswered() == std::vector<Rank>{1});
    board.lost("gone\n");
    assert_true(board.answered() && board.alive(std::nullopt).empty());
}

using TestClock = std::chrono::steady_clock;

// Ranks 0, which runs, and 1, which has stopped; what is said to them is in a file.
struct Talk {
    explicit Talk(const char *said)
        : link(DebugLink::open({"/bin/sh", "-c", host_words, "sh", said})),
          talk(
              *link, {0, 1}, [] { return false; }, [](const PromptInput &) { return Result<void>(); }) {
        assert_int_equal(talk.begin(std::chrono::seconds(20)), 2);
    }
    static constexpr const char *host_words = R"(
says() { printf '{"rank":%s,"id":%s,%s}\n' "$@"; }
says 0 0 '"end":"stopped"'
says 0 0 '"end":"runs"'
says 1 0 '"end":"stopped"'
while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    case $line in
    *complete*)
        says 1 2 '"text":"break main","end_of_line":true'
        says 1 2 '"end":"done"'
        ;;
    esac
done)";
    Result<DebugLink> link;
    DebugTalk talk;
};

void a_rank_that_has_stopped_completes(void **) {
    char said[] = "/tmp/pmixhost-unit-talk.XXXXXX";
    int file = mkstemp(said);
    {
        Talk with(said);
        assert_true(with.talk.complete("break ma") == std::vector<std::string>{"main"});
        // With gdb's own word for it a line may be longer than its host takes, which then would not answer.
        auto begin = TestClock::now();
        assert_true(with.talk.complete(std::string(longest_debug_command - 3, 'x')).empty());
        assert_true(TestClock::now() - begin < std::chrono::seconds(4));
    }
    char text[4096];
    ssize_t got = read(file, text, sizeof text);
    std::string all(text, got > 0 ? static_cast<std::size_t>(got) : 0);
    assert_true(all.find("complete break ma") != all.npos && all.find("xxx") == all.npos);
    assert_true(all.find("\"ranks\":\"1\"") != all.npos);
    close(file);
    unlink(said);
}

// One that goes on is ended; one that ends in time has its own exit code.
void a_launcher_is_ended(void **) {
    auto begin = TestClock::now();
    auto goes_on = DebuggedLaunch::start({"/bin/sleep", "60"}, {});
    assert_true(goes_on.ok());
    assert_int_equal(goes_on->end(std::chrono::milliseconds(50)), 128 + SIGTERM);
    assert_false(goes_on->runs());
    auto ends = DebuggedLaunch::start({"/bin/sh", "-c", "exit 7"}, {});
    assert_true(ends.ok());
    assert_int_equal(ends->end(std::chrono::seconds(30)), 7);
    assert_true(TestClock::now() - begin < std::chrono::seconds(20));
}

// What is said to nobody must not keep the ranks of a host: it goes when its input ends.
void a_host_goes_though_nobody_reads_what_it_says(void **) {
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    fcntl(out[1], F_SETFL, O_NONBLOCK);
    char full[4096] = {};
    while (write(out[1], full, sizeof full) > 0) {
    }
    fcntl(out[1], F_SETFL, 0);
    char directory[] = "/tmp/pmixhost-unit-hosts.XXXXXX"; // where no server is
    assert_non_null(mkdtemp(directory));
    setenv("PMIX_SYSTEM_TMPDIR", directory, 1);
    std::atomic<bool> over = false;
    std::thread host([&] {
        debug_this_host({"nobodys.0", std::nullopt, std::chrono::seconds(1), std::nullopt}, in[0], out[1]);
        over = true;
    });
    close(in[1]);
    for (auto until = TestClock::now() + std::chrono::seconds(30); !over && TestClock::now() < until;)
        usleep(20'000);
    assert_true(over);
    host.join();
    unsetenv("PMIX_SYSTEM_TMPDIR");
    rmdir(directory);
    for (int fd : {in[0], out[0], out[1]})
        close(fd);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(attaching_comes_behind_the_settings),
        cmocka_unit_test(a_breakpoint_may_wait_for_its_library),
        cmocka_unit_test(an_answer_is_what_was_said_meanwhile),
        cmocka_unit_test(values_of_the_machine_interface_come_whole),
        cmocka_unit_test(a_process_runs_and_stops),
        cmocka_unit_test(what_gdb_itself_lets_run_is_told),
        cmocka_unit_test(an_end_is_told_once),
        cmocka_unit_test(a_child_is_followed),
        cmocka_unit_test(a_parent_may_be_held_as_well),
        cmocka_unit_test(a_program_that_becomes_another_goes_on),
        cmocka_unit_test(a_wish_to_stop_waits_for_the_command),
        cmocka_unit_test(what_is_no_line_of_gdb_changes_nothing),
        cmocka_unit_test(an_answer_stands_behind_words_that_are_none),
        cmocka_unit_test(events_come_through_short_lines),
        cmocka_unit_test(a_host_names_its_ranks),
        cmocka_unit_test(other_words_of_a_host_are_left_out),
        cmocka_unit_test(commands_come_through),
        cmocka_unit_test(our_words_are_few),
        cmocka_unit_test(a_step_is_taken_once_more),
        cmocka_unit_test(what_is_launched_is_not_read_behind_its_program),
        cmocka_unit_test(a_line_may_be_long_in_coming),
        cmocka_unit_test(an_interrupt_is_not_lost_between_waits),
        cmocka_unit_test(what_is_the_same_is_said_once),
        cmocka_unit_test(ranks_at_one_place_give_one_answer),
        cmocka_unit_test(data_that_differs_is_shown_of_each),
        cmocka_unit_test(the_board_follows_each_rank),
        cmocka_unit_test(a_rank_that_has_stopped_completes),
        cmocka_unit_test(a_launcher_is_ended),
        cmocka_unit_test(a_host_goes_though_nobody_reads_what_it_says),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
