// A session of the Debug Adapter Protocol: what a client hears for what it asks and for what the ranks' gdbs say.
#include "tools/dap/dap_session.h"
#include "tools/dap/dap_frames.h"

#include "test/unit/check.h"

#include <ctime>
#include <deque>

using namespace pmixhost;
using nlohmann::json;

namespace {

using Kind = GdbEvent::Kind;

// A client, and hosts whose ranks answer nothing by themselves.
struct Editor {
    std::deque<json> heard;
    std::deque<DebugCommand> told;
    std::vector<std::vector<Rank>> interrupted;
    DapSession session{{[this](const json &message) { heard.push_back(message); },
                        [this](const ToHost &message) {
                            if (const auto *command = std::get_if<DebugCommand>(&message))
                                told.push_back(*command);
                            if (const auto *stop = std::get_if<DebugInterrupt>(&message))
                                interrupted.push_back(*stop->ranks);
                        },
                        [this](const PromptInput &input) -> Result<void> {
                            if (!takes_input)
                                return error(ErrorKind::unsupported, "no input");
                            given.push_back(input.ends ? "eof" : input.text);
                            return {};
                        }}};
    bool takes_input = true;
    std::vector<std::string> given;
    int seq = 0;

    int ask(const char *command, json arguments = json::object()) {
        session.on_message({{"seq", ++seq}, {"type", "request"}, {"command", command}, {"arguments", arguments}});
        return seq;
    }
    // The first answer or event that has not been taken, of that kind.
    json take(const char *type, const char *name) {
        for (auto one = heard.begin(); one != heard.end(); ++one) {
            const char *key = std::string_view(type) == "event" ? "event" : "command";
            if ((*one)["type"] == type && (*one)[key] == name) {
                json out = *one;
                heard.erase(one);
                return out;
            }
        }
        return {};
    }
    json answer(const char *command) { return take("response", command); }
    json event(const char *name) { return take("event", name); }
    void says(Rank rank, GdbEvent event) { session.on_host(RankEvent{rank, std::move(event)}); }
    // All ranks of the command that was told first answer so.
    DebugCommand all_answer(Kind kind, const std::string &text = "{}") {
        assert_false(told.empty());
        DebugCommand command = std::move(told.front());
        told.pop_front();
        for (Rank rank : *command.ranks)
            says(rank, {command.id, kind, text});
        return command;
    }
    void stops(Rank rank, const char *reason, const char *thread = "1") {
        says(rank, {0, Kind::stopped, "there\n", reason, thread});
        if (!told.empty() && told.front().text == "-thread-info")
            all_answer(Kind::done, R"({"threads":[{"id":"1","name":"app"},{"id":"2","name":"app"}]})");
    }
    // Two ranks are attached to, and all stand.
    void begin(bool entry = true) {
        ask("initialize");
        assert_true(answer("initialize")["success"] == true);
        ask("attach", {{"job", "12"}, {"stopOnEntry", entry}});
        auto start = session.take_start();
        assert_true(start && start->job == "12");
        assert_true(answer("attach").is_null());
        session.on_started({0, 1});
        says(0, {0, Kind::stopped, "there\n"});
        assert_true(session.awaits_ranks());
        assert_true(answer("attach").is_null());
        says(1, {0, Kind::stopped, "there\n"});
        assert_true(answer("attach")["success"] == true);
        assert_false(event("initialized").is_null());
        ask("configurationDone");
        assert_true(answer("configurationDone")["success"] == true);
    }
};

void messages_are_cut_out_of_a_stream(void **) {
    DapInput input;
    std::string all = dap_frame({{"a", 1}}) + "content-length: 7\r\nOther: x\r\n\r\n{\"b\":2}";
    std::size_t count = 0;
    for (char c : all) {
        auto got = input.add(std::string(1, c));
        assert_true(got.ok());
        count += got->size();
    }
    assert_int_equal(count, 2);
    assert_true(input.add(all)->size() == 2);
    for (const char *bad : {"Content-Length: -1\r\n\r\n", "Content-Length: 7x\r\n\r\n{\"b\":2}", "Length: 7\r\n\r\n",
                            "Content-Length: 99999999\r\n\r\n", "Content-Length: 2\r\n\r\n[]",
                            "Content-Length: 18446744073709551617\r\n\r\n"})
        assert_false(DapInput().add(bad).ok());
    assert_false(DapInput().add(std::string(5000, 'x')).ok());
    // What works on a message calls itself for each level.
    auto nested = [](std::size_t depth) {
        std::string text = "{\"a\\\"[\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
        return fmt::format("Content-Length: {}\r\n\r\n{}", text.size(), text);
    };
    assert_true(DapInput().add(nested(60)).ok());
    assert_false(DapInput().add(nested(100'000)).ok());
}

void stops_are_told_by_thread_and_reason(void **) {
    Editor editor;
    editor.begin();
    editor.all_answer(Kind::done, R"({"threads":[{"id":"1","name":"app"},{"id":"2","name":"app"}]})");
    assert_true(editor.event("stopped")["body"]["reason"] == "entry");
    editor.ask("threads");
    auto threads = editor.answer("threads")["body"]["threads"];
    assert_int_equal(threads.size(), 4);
    assert_true(threads[0]["name"] == "rank 0: app" && threads[1]["name"] == "rank 0, thread 2: app");
    assert_true(threads[2]["name"] == "rank 1: app");
    editor.heard.clear();
    editor.ask("continue", {{"threadId", threads[0]["id"]}});
    assert_string_equal(editor.all_answer(Kind::runs).text.c_str(), "-exec-continue");
    assert_true(editor.answer("continue")["body"]["allThreadsContinued"] == true);
    for (const auto &thread : threads)
        assert_true(editor.event("continued")["body"]["threadId"] == thread["id"]);
    editor.stops(1, "signal-received SIGSEGV", "2");
    auto stopped = editor.event("stopped")["body"];
    assert_true(stopped["reason"] == "exception" && stopped["description"] == "SIGSEGV");
    assert_true(stopped["threadId"] == threads[3]["id"]);
    editor.ask("exceptionInfo", {{"threadId", threads[3]["id"]}});
    assert_true(editor.answer("exceptionInfo")["body"]["exceptionId"] == "SIGSEGV");
    assert_true(editor.event("stopped")["body"]["preserveFocusHint"] == true); // its other thread
    assert_true(editor.event("stopped").is_null());
    editor.stops(0, "signal-received SIGINT");
    assert_true(editor.event("stopped")["body"]["reason"] == "pause");
}

// Of a job that is not to stop at its beginning nothing is told before it has gone on.
void what_goes_on_at_the_beginning_is_no_stop(void **) {
    Editor editor;
    editor.begin(false);
    assert_string_equal(editor.all_answer(Kind::runs).text.c_str(), "-exec-continue");
    assert_true(editor.event("stopped").is_null());
    editor.ask("stackTrace", {{"threadId", 10001}});
    assert_true(editor.answer("stackTrace")["message"] == "rank 0 has not stopped");
    editor.ask("pause", {{"threadId", 10001}});
    assert_true(editor.answer("pause")["success"] == true);
    assert_true(editor.interrupted == (std::vector<std::vector<Rank>>{{0, 1}}));
}

void steps_are_for_all_or_for_one(void **) {
    Editor editor;
    editor.begin();
    editor.all_answer(Kind::done, R"({"threads":[]})");
    editor.ask("next", {{"threadId", 20002}}); // rank 1, its second thread; rank 0 has stopped with its first
    assert_int_equal(editor.told.size(), 2);
    auto first = editor.all_answer(Kind::runs), second = editor.all_answer(Kind::runs);
    assert_string_equal(first.text.c_str(), "-exec-next --thread 1");
    assert_true(*first.ranks == std::vector<Rank>{0});
    assert_string_equal(second.text.c_str(), "-exec-next --thread 2");
    assert_true(editor.answer("next")["success"] == true);
    editor.heard.clear();
    editor.stops(0, ""); // where there is no debugging information
    assert_true(editor.event("stopped")["body"]["reason"] == "step");
    editor.stops(1, "end-stepping-range");
    editor.told.clear();
    editor.ask("stepOut", {{"threadId", 10001}, {"singleThread", true}});
    auto out = editor.all_answer(Kind::error, "\"finish\" not meaningful in the outermost frame.\n");
    assert_string_equal(out.text.c_str(), "-exec-finish --thread 1 --frame 0");
    assert_true(*out.ranks == std::vector<Rank>{0});
    assert_true(editor.answer("stepOut")["message"] == "rank 0: \"finish\" not meaningful in the outermost frame.");
    editor.ask("continue", {{"threadId", 99}});
    assert_true(editor.answer("continue")["message"] == "there is no such thread");
}

// Of ranks that make a step together an editor stays with the one that it has named; where that one runs, it goes to
// who comes to a breakpoint.
void an_editor_stays_with_its_rank(void **) {
    Editor editor;
    editor.begin();
    editor.all_answer(Kind::done, R"({"threads":[]})");
    editor.heard.clear();
    editor.ask("next", {{"threadId", 20001}});
    editor.all_answer(Kind::runs);
    editor.stops(1, "end-stepping-range");
    assert_false(editor.event("stopped")["body"].contains("preserveFocusHint"));
    editor.heard.clear();
    editor.stops(0, "end-stepping-range");
    assert_true(editor.event("stopped")["body"]["preserveFocusHint"] == true);
    editor.ask("continue", {{"threadId", 20001}});
    editor.all_answer(Kind::runs);
    editor.heard.clear();
    editor.stops(0, "breakpoint-hit 1");
    assert_false(editor.event("stopped")["body"].contains("preserveFocusHint"));
    editor.heard.clear();
    editor.stops(1, "breakpoint-hit 1");
    assert_false(editor.event("stopped")["body"].contains("preserveFocusHint"));
    editor.ask("continue", {{"threadId", 10001}, {"singleThread", true}});
    editor.all_answer(Kind::runs);
    editor.ask("pause", {{"threadId", 20001}});
    editor.heard.clear();
    editor.stops(0, "breakpoint-hit 1");
    assert_true(editor.event("stopped")["body"]["preserveFocusHint"] == true);
    editor.ask("continue", {{"threadId", 10001}, {"singleThread", true}});
    editor.all_answer(Kind::runs);
    editor.ask("pause", {{"threadId", 20001}});
    editor.heard.clear();
    editor.stops(0, "signal-received SIGSEGV");
    assert_false(editor.event("stopped")["body"].contains("preserveFocusHint"));
}

// A quick rank has stopped again before a slow one has answered: what the client hears has the order of what was.
void a_slow_rank_holds_up_nobody(void **) {
    Editor editor;
    editor.begin();
    editor.all_answer(Kind::done, R"({"threads":[]})");
    editor.heard.clear();
    editor.ask("next", {{"threadId", 10001}});
    auto next = editor.told.front();
    editor.told.clear();
    editor.says(0, {next.id, Kind::runs, "{}"});
    assert_true(editor.answer("next")["success"] == true);
    editor.stops(0, "end-stepping-range");
    editor.ask("stackTrace", {{"threadId", 10001}});
    editor.all_answer(Kind::done, R"({"stack":[{"level":"0","func":"f","addr":"0x1"}]})");
    auto frame = editor.answer("stackTrace")["body"]["stackFrames"][0]["id"];
    // To be stopped, and nobody knows yet that it runs.
    editor.ask("pause", {{"threadId", 20001}});
    assert_true(editor.interrupted.empty());
    editor.says(1, {next.id, Kind::runs, "{}"});
    assert_true(editor.interrupted == (std::vector<std::vector<Rank>>{{1}}));
    editor.ask("scopes", {{"frameId", frame}});
    assert_true(editor.answer("scopes")["success"] == true);
    std::vector<std::string> order;
    for (const auto &one : editor.heard) {
        if (one["type"] == "event")
            order.push_back(one["event"].get<std::string>() + one["body"]["threadId"].dump());
    }
    assert_true(order ==
                (std::vector<std::string>{"continued10001", "stopped10001", "stopped10002", "continued20001"}));
}

void a_variable_that_is_null_is_taken_away(void **) {
    Editor editor;
    editor.ask("launch", {{"program", "a"}, {"env", {{"GIVEN", "x"}, {"TAKEN", nullptr}, {"EMPTY", ""}}}});
    auto start = editor.session.take_start();
    assert_true(start.has_value());
    using Environment = std::map<std::string, std::optional<std::string>>;
    assert_true(start->environment == (Environment{{"EMPTY", ""}, {"GIVEN", "x"}, {"TAKEN", std::nullopt}}));
}

// What a client may hear at the end of a launch, in this order.
void a_launch_ends_with_its_exit_code(void **) {
    Editor editor;
    editor.ask("launch", {{"program", "a"}, {"srun", {"-n1"}}, {"args", {"x"}}, {"stop", "init"}});
    auto start = editor.session.take_start();
    assert_true(start && start->stop == "init");
    assert_true(start->command == (std::vector<std::string>{"srun", "--mpi=pmixhost", "-n1", "a", "x"}));
    editor.session.on_started({0});
    editor.says(0, {0, Kind::stopped, "there\n"});
    assert_true(editor.answer("launch")["success"] == true);
    editor.says(0, {0, Kind::gone, "exited\n"});
    editor.session.settle();
    assert_true(editor.event("terminated").is_null());
    editor.session.on_launch_end(7);
    assert_true(editor.event("exited")["body"]["exitCode"] == 7);
    assert_false(editor.event("terminated").is_null());
    editor.ask("disconnect");
    assert_true(editor.session.end() == DapSession::End::kill);
    assert_true(editor.answer("disconnect").is_null());
    editor.session.on_all_over();
    assert_true(editor.answer("disconnect")["success"] == true);
    assert_true(editor.event("terminated").is_null()); // once
    // One that ends before there is anything to debug is refused.
    Editor other;
    other.ask("launch", {{"program", "a"}});
    (void)other.session.take_start();
    other.session.on_started({0});
    other.session.on_launch_end(2);
    assert_true(other.answer("launch")["message"] == "srun has ended (2), and nothing could be debugged");
    assert_true(other.event("exited").is_null());
}

void breakpoints_have_a_number_in_each_gdb(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("setBreakpoints",
               {{"source", {{"path", "/a \"b\".c"}}}, {"breakpoints", {{{"line", 3}, {"condition", "x > 1"}}}}});
    auto insert = editor.told.front();
    assert_string_equal(insert.text.c_str(), "-break-insert -f -c \"x > 1\" --source \"/a \\\"b\\\".c\" --line 3");
    editor.says(0, {insert.id, Kind::done, R"({"bkpt":{"number":"1","addr":"<PENDING>"}})"});
    assert_true(editor.answer("setBreakpoints").is_null());
    editor.says(1, {insert.id, Kind::done, R"({"bkpt":{"number":"7","addr":"0x1","line":"4"}})"});
    editor.told.clear();
    auto told = editor.answer("setBreakpoints")["body"]["breakpoints"];
    assert_true(told[0]["verified"] == true && told[0]["line"] == 4);
    editor.stops(1, "breakpoint-hit 7");
    assert_true(editor.event("stopped")["body"]["hitBreakpointIds"] == json::array({told[0]["id"]}));
    // One that would do something else than what was asked for is none.
    editor.ask("setFunctionBreakpoints", {{"breakpoints", {{{"name", "f"}, {"hitCondition", "3"}}}}});
    assert_true(editor.told.empty());
    assert_true(editor.answer("setFunctionBreakpoints")["body"]["breakpoints"][0]["verified"] == false);
    // Another set of the same file takes the first one's place.
    editor.ask("setBreakpoints", {{"source", {{"path", "/a \"b\".c"}}}, {"breakpoints", json::array()}});
    assert_true(editor.answer("setBreakpoints")["success"] == true);
    assert_int_equal(editor.told.size(), 2);
    assert_string_equal(editor.all_answer(Kind::done).text.c_str(), "-break-delete 1");
    assert_string_equal(editor.all_answer(Kind::done).text.c_str(), "-break-delete 7");
}

// A rank that runs may come to a breakpoint before all others have answered.
void an_early_hit_is_known(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("setFunctionBreakpoints", {{"breakpoints", {{{"name", "f"}}}}});
    auto insert = editor.told.front();
    editor.told.clear();
    editor.says(1, {insert.id, Kind::done, R"({"bkpt":{"number":"7","addr":"0x1"}})"});
    editor.stops(1, "breakpoint-hit 7");
    assert_int_equal(editor.event("stopped")["body"]["hitBreakpointIds"].size(), 1);
}

// One that comes in place of another before gdb has answered for that.
void a_breakpoint_that_was_replaced_early_goes(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("setFunctionBreakpoints", {{"breakpoints", {{{"name", "f"}}}}});
    editor.ask("setFunctionBreakpoints", {{"breakpoints", json::array()}});
    editor.all_answer(Kind::done, R"({"bkpt":{"number":"1","addr":"0x1"}})");
    assert_string_equal(editor.all_answer(Kind::done).text.c_str(), "-break-delete 1");
}

void frames_and_variables_hold_until_the_rank_runs(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("stackTrace", {{"threadId", 20001}, {"startFrame", 2}, {"levels", 1}});
    auto list = editor.all_answer(
        Kind::done, R"({"stack":[{"level":"2","func":"f","fullname":"/d/f.c","line":"8","addr":"0x1"}]})");
    assert_string_equal(list.text.c_str(), "-stack-list-frames --thread 1 2 2");
    assert_true(*list.ranks == std::vector<Rank>{1});
    auto frame = editor.answer("stackTrace")["body"]["stackFrames"][0];
    assert_true(frame["name"] == "f" && frame["line"] == 8 && frame["source"]["name"] == "f.c");
    assert_false(frame.contains("presentationHint"));
    editor.ask("stackTrace", {{"threadId", 20001}, {"levels", 1}});
    editor.all_answer(Kind::done, R"({"stack":[{"level":"0","func":"read","from":"/lib/libc.so.6","addr":"0x2"}]})");
    auto in_library = editor.answer("stackTrace")["body"]["stackFrames"][0];
    assert_true(in_library["presentationHint"] == "subtle" && in_library["source"]["name"] == "libc.so.6" &&
                in_library["source"]["presentationHint"] == "deemphasize");
    editor.ask("scopes", {{"frameId", frame["id"]}});
    auto scope = editor.answer("scopes")["body"]["scopes"][0]["variablesReference"];
    editor.ask("variables", {{"variablesReference", scope}});
    auto locals = editor.all_answer(
        Kind::done,
        R"({"variables":[{"name":"i","type":"int","value":"3"},{"name":"p","type":"struct point"},)"
        R"({"name":"s","type":"const char *","value":"0x1 \"x\""},{"name":"q","type":"int *","value":"0x2"}]})");
    assert_string_equal(locals.text.c_str(), "-stack-list-variables --thread 1 --frame 2 --simple-values");
    auto all = editor.all_answer(Kind::error, "gdb cannot say them all\n"); // then there are the types
    assert_string_equal(all.text.c_str(), "-stack-list-variables --thread 1 --frame 2 --all-values");
    auto variables = editor.answer("variables")["body"]["variables"];
    assert_true(variables[0]["value"] == "3" && variables[0]["variablesReference"] == 0);
    assert_true(variables[1]["value"] == "struct point" && variables[1]["variablesReference"] > 0);
    assert_true(variables[2]["variablesReference"] == 0 && variables[3]["variablesReference"] > 0);
    editor.ask("variables", {{"variablesReference", variables[1]["variablesReference"]}});
    assert_string_equal(editor.all_answer(Kind::done, R"({"name":"var1","numchild":"1"})").text.c_str(),
                        "-var-create --thread 1 --frame 2 - * \"p\"");
    editor.all_answer(Kind::done,
                      R"({"children":[{"name":"var1.x","exp":"x","numchild":"0","value":"1","type":"int"}]})");
    assert_true(editor.answer("variables")["body"]["variables"][0]["name"] == "x");
    // One without members has a list of none.
    editor.ask("variables", {{"variablesReference", variables[1]["variablesReference"]}});
    editor.all_answer(Kind::done, R"({"name":"var2","numchild":"0"})");
    assert_true(editor.answer("variables")["body"]["variables"] == json::array());
    assert_string_equal(editor.all_answer(Kind::done).text.c_str(), "-var-delete var2");
    assert_true(editor.told.empty());
    editor.ask("continue", {{"threadId", 20001}, {"singleThread", true}});
    editor.all_answer(Kind::runs);
    assert_string_equal(editor.told.front().text.c_str(), "-var-delete var1");
    editor.ask("scopes", {{"frameId", frame["id"]}});
    assert_true(editor.answer("scopes")["success"] == false);
    editor.ask("variables", {{"variablesReference", scope}});
    assert_true(editor.answer("variables")["success"] == false);
}

// gdb's scripts show a container as what it holds: it has no children before it is asked for them.
void containers_are_shown_as_what_they_hold(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("stackTrace", {{"threadId", 20001}, {"levels", 1}});
    editor.all_answer(Kind::done, R"({"stack":[{"level":"0","func":"f","addr":"0x1"}]})");
    int frame = editor.answer("stackTrace")["body"]["stackFrames"][0]["id"];
    editor.ask("scopes", {{"frameId", frame}});
    int scope = editor.answer("scopes")["body"]["scopes"][0]["variablesReference"];
    editor.ask("variables", {{"variablesReference", scope}});
    editor.all_answer(Kind::done, R"({"variables":[{"name":"v","type":"std::vector<int>"},)"
                                  R"({"name":"i","type":"int","value":"3"},{"name":"t","type":"text"}]})");
    std::string long_text(5000, 'x');
    editor.all_answer(Kind::done, R"({"variables":[{"name":"v","value":"std::vector of length 2 = {1, 2}"},)"
                                  R"({"name":"i","value":"3"},{"name":"t","value":")" +
                                      long_text + R"("}]})");
    auto variables = editor.answer("variables")["body"]["variables"];
    assert_true(variables[0]["value"] == "std::vector of length 2 = {1, 2}" && variables[1]["value"] == "3");
    assert_true(variables[0]["type"] == "std::vector<int>" && variables[1]["variablesReference"] == 0);
    assert_true(variables[2]["value"].get<std::string>().size() < 300);
    editor.ask("variables", {{"variablesReference", variables[0]["variablesReference"]}});
    editor.all_answer(Kind::done, R"({"name":"var1","numchild":"0","has_more":"1","dynamic":"1"})");
    editor.all_answer(
        Kind::done,
        R"({"children":[{"name":"var1.[0]","exp":"[0]","numchild":"0","value":"\"a\"","dynamic":"1","has_more":"0"},)"
        R"({"name":"var1.[1]","exp":"[1]","numchild":"0","value":"{...}","type":"V","dynamic":"1","has_more":"1"}]})");
    auto held = editor.answer("variables")["body"]["variables"];
    editor.ask("evaluate", {{"expression", "v"}, {"frameId", frame}, {"context", "watch"}});
    editor.all_answer(Kind::done, R"({"name":"var2","numchild":"0","has_more":"1","value":"{...}","type":"V"})");
    assert_string_equal(editor.all_answer(Kind::done, R"({"value":"of 2 = {1, 2}"})").text.c_str(),
                        "-data-evaluate-expression --thread 1 --frame 0 \"v\"");
    auto watched = editor.answer("evaluate")["body"];
    assert_true(watched["result"] == "of 2 = {1, 2}" && watched["type"] == "V" && watched["variablesReference"] > 0);
    assert_true(held[0]["value"] == "\"a\"" && held[0]["variablesReference"] == 0);
    assert_true(held[1]["value"] == "V" && held[1]["variablesReference"] > 0);
}

void the_console_is_the_prompt(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("evaluate", {{"expression", "print x"}, {"context", "repl"}});
    auto print = editor.told.front();
    assert_true(print.language == GdbLanguage::console);
    editor.all_answer(Kind::done, "$1 = 4\n");
    assert_true(editor.answer("evaluate")["body"]["result"] == "[0-1] $1 = 4");
    editor.ask("evaluate", {{"expression", "print/x sum"}, {"context", "repl"}});
    std::uint64_t sum = editor.told.front().id;
    editor.told.pop_front();
    editor.says(0, {sum, Kind::done, "$2 = 0xdeadbeef\n"});
    editor.says(1, {sum, Kind::done, "$2 = 0xdeadbee0\n"});
    assert_true(editor.answer("evaluate")["body"]["result"] == "[0] $2 = 0xdeadbeef\n[1] $2 = 0xdeadbee0");
    editor.ask("evaluate", {{"expression", "focus 1"}, {"context", "repl"}});
    assert_true(editor.answer("evaluate")["success"] == true);
    editor.ask("evaluate", {{"expression", "cont"}, {"context", "repl"}});
    editor.heard.clear();
    assert_true(*editor.told.front().ranks == std::vector<Rank>{1});
    assert_string_equal(editor.told.front().text.c_str(), "cont &"); // as gdb takes it; it hears more while it runs
    editor.all_answer(Kind::runs, "Continuing.\n");
    assert_true(editor.answer("evaluate")["body"]["result"] == "[1] Continuing.");
    assert_false(editor.event("continued").is_null());
    editor.ask("evaluate", {{"expression", "ranks"}, {"context", "repl"}});
    assert_true(editor.answer("evaluate")["body"]["result"] == "[0] stopped\n[1] running");
    editor.ask("evaluate", {{"expression", std::string(3000, 'x')}, {"context", "repl"}});
    assert_true(editor.answer("evaluate")["success"] == false);
    editor.ask("evaluate", {{"expression", "print 1\nprint 2"}, {"context", "repl"}});
    assert_true(editor.answer("evaluate")["success"] == false);
    for (const char *line : {"input  a ", "eof"}) {
        editor.ask("evaluate", {{"expression", line}, {"context", "repl"}});
        assert_true(editor.answer("evaluate")["success"] == true);
    }
    assert_true(editor.given == (std::vector<std::string>{" a \n", "eof"}));
    editor.takes_input = false;
    editor.ask("evaluate", {{"expression", "input b"}, {"context", "repl"}});
    assert_true(editor.answer("evaluate")["message"] == "no input");
    editor.ask("evaluate", {{"expression", "quit kill"}, {"context", "repl"}});
    assert_true(editor.session.end() == DapSession::End::kill);
    assert_true(editor.event("terminated").is_null()); // a client may end the adapter then
    editor.session.on_all_over();
    assert_false(editor.event("terminated").is_null());
}

// A completion says which part of the line it takes the place of, in columns as the client counts them.
void completions_take_the_place_of_the_word(void **) {
    for (int first : {1, 0}) {
        Editor editor;
        editor.begin();
        editor.told.clear();
        editor.ask("initialize", {{"columnsStartAt1", first == 1}});
        editor.ask("completions", {{"text", "break mee"}, {"column", first + 8}});
        assert_string_equal(editor.all_answer(Kind::done, "break meets\n").text.c_str(), "complete break me");
        auto target = editor.answer("completions")["body"]["targets"][0];
        assert_true(target["label"] == "meets" && target["start"] == first + 6 && target["length"] == 2);
        editor.ask("completions", {{"text", "fo"}, {"column", first + 2}});
        editor.all_answer(Kind::done, "");
        target = editor.answer("completions")["body"]["targets"][0];
        assert_true(target["label"] == "focus" && target["start"] == first && target["length"] == 2);
    }
}

// A rank that ends owes no answer; when all have, the session is over.
void ends_are_told_and_answer_for_themselves(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("evaluate", {{"expression", "print x"}, {"context", "repl"}});
    auto print = editor.told.front();
    editor.says(0, {print.id, Kind::done, "$1 = 4\n"});
    editor.says(1, {0, Kind::gone, "[Inferior 1 (process 12) exited normally]\n"});
    assert_true(editor.answer("evaluate")["body"]["result"] == "[0] $1 = 4\n[1] it has ended");
    assert_true(editor.event("thread")["body"]["reason"] == "exited");
    assert_true(editor.event("terminated").is_null());
    editor.session.on_hosts_gone("the way to its host is gone");
    auto exited = editor.event("thread")["body"]; // of the rank that was still there
    assert_true(exited["reason"] == "exited" && exited["threadId"] == 10001);
    assert_true(editor.event("thread").is_null());
    editor.session.settle();
    assert_false(editor.event("terminated").is_null());
    std::string said;
    for (json one = editor.event("output"); !one.is_null(); one = editor.event("output"))
        said += one["body"]["output"];
    assert_string_equal(said.c_str(),
                        "[0] the way to its host is gone\n[1] [Inferior 1 (process 12) exited normally]\n");
}

// A second request is refused, and changes nothing of what the end of the first one means.
void who_was_attached_to_is_not_killed(void **) {
    Editor editor;
    editor.begin();
    editor.ask("launch", {{"program", "a"}});
    assert_true(editor.answer("launch")["success"] == false);
    editor.session.on_client_gone();
    assert_true(editor.session.end() == DapSession::End::let_go);
    editor.ask("disconnect");
    editor.ask("disconnect");
    assert_true(editor.answer("disconnect")["success"] == true);
    editor.session.on_all_over();
    assert_true(editor.answer("disconnect")["success"] == true);
    // Nobody is asked any more, and whoever asks is told so.
    editor.session.on_hosts_gone("it was let go");
    editor.ask("setFunctionBreakpoints", {{"breakpoints", {{{"name", "f"}}}}});
    assert_true(editor.answer("setFunctionBreakpoints")["body"]["breakpoints"][0]["verified"] == false);
}

// The gdb of a rank that has been given up comes when the others run: it goes on as they did, with their breakpoints.
void who_comes_late_has_the_breakpoints(void **) {
    for (bool entry : {false, true}) {
        Editor editor;
        editor.ask("attach", {{"job", "12"}, {"stopOnEntry", entry}});
        (void)editor.session.take_start();
        editor.session.on_started({0, 1, 2});
        editor.says(0, {0, Kind::stopped, "there\n"});
        editor.session.give_up_starting("its host has not answered");
        assert_true(editor.answer("attach")["success"] == true);
        editor.ask("setFunctionBreakpoints", {{"breakpoints", {{{"name", "f"}}, {{"name", "g"}}}}});
        editor.all_answer(Kind::done, R"({"bkpt":{"number":"1","addr":"0x1"}})");
        editor.all_answer(Kind::done, R"({"bkpt":{"number":"2","addr":"0x2"}})");
        auto ids = editor.answer("setFunctionBreakpoints")["body"]["breakpoints"];
        // One before the client has said all, and one behind that.
        editor.says(1, {0, Kind::stopped, "there\n"});
        for (int breakpoint : {7, 8}) {
            auto insert =
                editor.all_answer(Kind::done, fmt::format(R"({{"bkpt":{{"number":"{}","addr":"0x1"}}}})", breakpoint));
            assert_true(*insert.ranks == std::vector<Rank>{1});
        }
        editor.ask("configurationDone");
        assert_true(*editor.told.front().ranks == (std::vector<Rank>{0, 1}));
        editor.all_answer(entry ? Kind::done : Kind::runs);
        editor.says(2, {0, Kind::stopped, "there\n"});
        assert_true(editor.event("thread")["body"]["reason"] == "started");
        auto f = editor.all_answer(Kind::done, R"({"bkpt":{"number":"3","addr":"0x1"}})");
        auto g = editor.all_answer(Kind::done, R"({"bkpt":{"number":"4","addr":"0x2"}})");
        assert_string_equal(f.text.c_str(), "-break-insert -f --function \"f\"");
        assert_string_equal(g.text.c_str(), "-break-insert -f --function \"g\"");
        assert_true(*f.ranks == std::vector<Rank>{2} && *g.ranks == std::vector<Rank>{2});
        editor.heard.clear();
        auto begins = editor.all_answer(entry ? Kind::done : Kind::runs);
        assert_string_equal(begins.text.c_str(), entry ? "-thread-info" : "-exec-continue");
        assert_true(*begins.ranks == std::vector<Rank>{2});
        if (entry)
            assert_true(editor.event("stopped")["body"]["reason"] == "entry");
        else
            assert_false(editor.event("continued").is_null());
        editor.stops(2, "breakpoint-hit 4");
        assert_true(editor.event("stopped")["body"]["hitBreakpointIds"] == json::array({ids[1]["id"]}));
    }
}

// What a rank says costs the same, however many there are.
void many_ranks_are_taken_one_by_one(void **) {
    constexpr Rank count = 40000;
    Editor editor;
    editor.ask("attach", {{"job", "12"}});
    (void)editor.session.take_start();
    std::vector<Rank> ranks(count);
    for (Rank rank = 0; rank < count; ++rank)
        ranks[rank] = rank;
    editor.session.on_started(ranks);
    std::clock_t begin = std::clock(); // of processors: others may have them
    for (Rank rank = 0; rank < count; ++rank)
        editor.says(rank, {0, Kind::stopped, "there\n"});
    assert_true(std::clock() - begin < 3 * CLOCKS_PER_SEC);
    assert_true(editor.answer("attach")["success"] == true);
}

void who_cannot_be_debugged_is_said(void **) {
    Editor editor;
    editor.ask("attach", {{"job", "12"}});
    (void)editor.session.take_start();
    editor.session.on_started({0, 1});
    editor.session.on_host(RankEvent{0, {0, Kind::error, "it may not be traced\n"}, true});
    editor.session.give_up_starting("its host has not answered");
    assert_true(editor.answer("attach")["message"] ==
                "no process is debugged: [0] it may not be traced\n[1] its host has not answered");
    assert_false(editor.event("terminated").is_null());
}

// What a user has asked for is refused in a window; what the editor asks by itself is not.
void what_an_editor_asks_opens_no_window(void **) {
    Editor editor;
    editor.begin();
    editor.told.clear();
    editor.ask("evaluate", {{"expression", "nonsense"}, {"context", "hover"}});
    editor.all_answer(Kind::error, "no\n");
    editor.all_answer(Kind::error, "No symbol.\n");
    auto hover = editor.answer("evaluate");
    assert_true(hover["success"] == false && hover["body"]["error"]["showUser"] == false);
    editor.ask("scopes", {{"frameId", 77}});
    assert_true(editor.answer("scopes")["body"]["error"]["showUser"] == false);
    editor.ask("next", {{"threadId", 77}});
    assert_true(editor.answer("next")["body"]["error"]["showUser"] == true);
}

// Whatever a client sends that is not as it should be is refused, or as if it were not there.
void hostile_requests_do_no_harm(void **) {
    Editor editor;
    editor.session.on_message(json::object());
    editor.session.on_message({{"type", "request"}});
    editor.session.on_message({{"type", "request"}, {"command", 5}, {"arguments", "x"}, {"seq", {1}}});
    editor.ask("threads");
    assert_true(editor.answer("threads")["success"] == false);
    for (const auto &arguments :
         {json{{"program", 5}}, json{{"program", "a"}, {"srun", "-n4"}}, json{{"program", "a"}, {"args", {1}}},
          json{{"program", "a"}, {"env", {{"A=B", "x"}}}}, json{{"program", "a"}, {"env", {{"A", 1}}}},
          json{{"program", "a"}, {"env", {{"A=B", nullptr}}}},
          json{{"program", std::string("a\0b", 3)}, {"args", {std::string("a\0b", 3)}}}}) {
        editor.ask("launch", arguments);
        assert_true(editor.answer("launch")["success"] == false);
    }
    editor.begin();
    editor.told.clear();
    const json junk[] = {json(-1), json(1e300), json("x"), json::array({1}), json(99999999999), json(nullptr)};
    for (const char *request : {"continue", "next", "stepIn", "stepOut", "pause", "stackTrace", "scopes", "variables",
                                "evaluate", "completions", "setBreakpoints", "setFunctionBreakpoints", "threads",
                                "configurationDone", "setExceptionBreakpoints"}) {
        for (const auto &value : junk) {
            json arguments = json::object();
            for (const char *name : {"threadId", "startFrame", "levels", "frameId", "variablesReference", "expression",
                                     "context", "text", "column", "source", "breakpoints", "singleThread"})
                arguments[name] = value;
            editor.ask(request, arguments);
        }
    }
    editor.ask("setBreakpoints", {{"source", {{"path", std::string(4000, 'x')}}}, {"breakpoints", {{{"line", 1}}}}});
    for (const json *said = nullptr; !editor.heard.empty(); editor.heard.pop_front())
        said = &editor.heard.front(), assert_true(said->contains("seq"));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_cut_out_of_a_stream),
        cmocka_unit_test(stops_are_told_by_thread_and_reason),
        cmocka_unit_test(what_goes_on_at_the_beginning_is_no_stop),
        cmocka_unit_test(steps_are_for_all_or_for_one),
        cmocka_unit_test(an_editor_stays_with_its_rank),
        cmocka_unit_test(a_slow_rank_holds_up_nobody),
        cmocka_unit_test(a_variable_that_is_null_is_taken_away),
        cmocka_unit_test(a_launch_ends_with_its_exit_code),
        cmocka_unit_test(breakpoints_have_a_number_in_each_gdb),
        cmocka_unit_test(an_early_hit_is_known),
        cmocka_unit_test(a_breakpoint_that_was_replaced_early_goes),
        cmocka_unit_test(frames_and_variables_hold_until_the_rank_runs),
        cmocka_unit_test(containers_are_shown_as_what_they_hold),
        cmocka_unit_test(the_console_is_the_prompt),
        cmocka_unit_test(completions_take_the_place_of_the_word),
        cmocka_unit_test(ends_are_told_and_answer_for_themselves),
        cmocka_unit_test(who_was_attached_to_is_not_killed),
        cmocka_unit_test(who_comes_late_has_the_breakpoints),
        cmocka_unit_test(many_ranks_are_taken_one_by_one),
        cmocka_unit_test(who_cannot_be_debugged_is_said),
        cmocka_unit_test(what_an_editor_asks_opens_no_window),
        cmocka_unit_test(hostile_requests_do_no_harm),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
