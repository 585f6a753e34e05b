// `pmixhost debug`: gdb on the processes of a job, all from one prompt; the job runs already, or is started with its
// processes stopped at their first instruction, in PMIx_Init or where they say. On each host of the job the same
// command (--here) has a gdb for each rank; it is brought there by the program of the resource manager's plugin
// (tools/doctor/host_checks.h), whose input and output are the way to it.
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/dap/dap_server.h"
#include "tools/debug/debug_talk.h"
#include "tools/debug/debug_target.h"
#include "tools/debug/host_debug.h"
#include "tools/debug/line_editor.h"
#include "tools/debug/prompt_words.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/rank_list.h"
#include "tools/terminal/terminal.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

namespace pmixhost {

namespace {

// Of a job whose ranks have been killed.
constexpr std::chrono::seconds to_end_by_itself(5);

struct DebugOptions {
    std::string job, ranks, here;
    std::string stop; // where the job's processes stop for this; empty: they run
    std::vector<std::string> commands;
    bool dap = false, unlabelled = false, lets_go = false;
    unsigned patience = 60;
};

int debug_failure(int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? " (see pmixhost debug --help)" : "");
    return code;
}

// How the prompt has ended.
struct Talked {
    int code = exit_ok;
    bool kills = false; // `quit kill`
};

Talked talk(DebugLink &link, const DebugOptions &options, const std::vector<Rank> &ranks,
            const std::function<bool()> &job_is_over, DebugTalk::GiveInput give) {
    await_interrupt();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGTSTP, SIG_IGN); // ranks that stand still want somebody there
    auto interrupted = [] { return take_interrupt() || is_told_to_end(); };
    DebugTalk debugger(
        link, ranks, [&] { return interrupted() || job_is_over(); }, std::move(give));
    // What is typed while the ranks are being attached to is for its prompt, and it puts the terminal right at its end.
    auto editor = std::make_unique<LineEditor>(LineEditor::Callbacks{
        [&](const std::string &line) { return debugger.complete(line); }, [&] { return debugger.fd(); },
        [&] { debugger.listen(); }, [&] { debugger.stay(); }, std::chrono::seconds(5), interrupted, interrupt_fd(),
        [&] { return !debugger.is_open(); }}); // nobody is left to say a line to
    std::size_t count = debugger.begin(std::chrono::seconds(options.patience));
    if (count == 0) {
        std::string why = link.is_open() ? std::string() : one_line(link.complaints(), 500);
        return {debug_failure(exit_failure, "no process is debugged" + (why.empty() ? why : ": " + why))};
    }
    bool goes_on = true;
    for (const auto &command : options.commands) {
        goes_on = goes_on && !is_told_to_end() && debugger.is_open() && debugger.obey(command);
    }
    const bool at_terminal = ::isatty(STDIN_FILENO) == 1;
    std::string before;
    while (goes_on && options.commands.empty() && debugger.is_open()) {
        auto line = editor->read(debugger.prompt());
        if (line && at_terminal && line->empty() && !editor->cut())
            *line = once_more(before);
        before = line.value_or(std::string());
        goes_on = line && !is_told_to_end() && debugger.is_open() && debugger.obey(*line);
    }
    editor.reset();
    interrupt_as_before();
    return {debugger.some_refused() ? exit_some : exit_ok, debugger.kills()};
}

// `job_is_over`: there is nothing to wait for any more. All is let go when it returns.
Talked debug_ranks(const DebugOptions &options, const DebugTarget &target, const std::function<bool()> &job_is_over,
                   DebugTalk::GiveInput give) {
    auto link = [&] {
        std::optional<ProgressLine> progress; // what is started here has the terminal itself
        if (!options.job.empty())
            progress.emplace("stopping job " + printable(options.job));
        return link_to_hosts({options.ranks, options.stop, options.patience}, target.nspace,
                             [&job_is_over] { return was_interrupted() || job_is_over(); });
    }();
    if (!link)
        return {debug_failure(exit_failure, link.failure().text)};
    return talk(*link, options, target.ranks, job_is_over, std::move(give));
}

// Who has not been debugged would go on, and so would a script around who was. Of a job that has ended nobody is
// reached any more; it is asked for once, as a gate lets nobody ask often.
int end_rest(const std::string &nspace) {
    std::this_thread::sleep_for(to_end_by_itself);
    auto rest = running_target(nspace, {}, 10);
    if (rest)
        return kill_command({nspace});
    if (rest.failure().kind == ErrorKind::not_found)
        return exit_ok;
    return debug_failure(exit_failure, fmt::format("what was not debugged of job {} may still run: {}",
                                                   printable(nspace), rest.failure().text));
}

int debug_running(const DebugOptions &options, const std::vector<Rank> &ranks) {
    auto target = [&] {
        ProgressLine progress("looking for job " + printable(options.job));
        return running_target(options.job, ranks, options.patience);
    }();
    if (!target)
        return debug_failure(exit_failure, target.failure().text);
    auto give = [&options](const PromptInput &) -> Result<void> {
        return error(ErrorKind::unsupported,
                     "this job was not started here; next, in another terminal: pmixhost attach {}",
                     printable(options.job));
    };
    Talked talked = debug_ranks(
        options, *target, [] { return false; }, give);
    if (int code = talked.kills ? end_rest(target->nspace) : exit_ok; code != exit_ok)
        return code;
    return talked.code;
}

// The command's exit code is the launcher's, unless nothing could be debugged.
int debug_launch(DebugOptions options, const std::vector<std::string> &command, const std::vector<Rank> &ranks) {
    if (options.stop.empty())
        options.stop = "exec";
    await_interrupt();
    // Without a prompt nobody gives any, but where the words say so; behind the last of these words it ends, or a
    // program that reads to the end would have to be ended from outside.
    auto inputs = std::count_if(options.commands.begin(), options.commands.end(), [](const auto &line) {
        return std::holds_alternative<PromptInput>(parse_prompt(line));
    });
    bool takes_input = options.commands.empty() || inputs > 0;
    auto launch = launch_for_debug(command, *stop_place_of(options.stop), ranks, {takes_input, !options.unlabelled});
    if (!launch)
        return debug_failure(exit_failure, launch.failure().text);
    auto target = launched_target(*launch, ranks, was_interrupted, [](const std::string &line) {
        std::fprintf(stderr, "pmixhost: %s\n", line.c_str());
    });
    if (!target && was_interrupted())
        return exit_failure;
    if (!target) {
        launch->end_input();
        int code = launch->await_end(take_interrupt, is_told_to_end);
        debug_failure(exit_failure, fmt::format("{} has ended ({}), and {}", printable(command[0], 200), code,
                                                target.failure().text));
        return code != 0 ? code : exit_failure;
    }
    auto give = [&launch, &inputs](const PromptInput &input) -> Result<void> {
        Result<void> given = input.ends ? Result<void>() : launch->give(input.text);
        if (--inputs == 0 || input.ends)
            launch->end_input();
        return given;
    };
    auto [code, kills] = debug_ranks(
        options, *target, [&launch] { return !launch->runs(); }, give);
    launch->end_input();
    if (kills) {
        int of_launcher = launch->end(to_end_by_itself);
        return of_launcher != 0 ? of_launcher : code;
    }
    if (code != exit_ok && code != exit_some)
        return code; // and the launcher is ended
    await_interrupt();
    if (is_told_to_end())
        return exit_failure;
    int of_launcher = launch->await_end(take_interrupt, is_told_to_end);
    return of_launcher != 0 ? of_launcher : code;
}

} // namespace

int debug_command(const Words &words) {
    CLI::App parser("Debugs the processes of a job with gdb: what is typed goes to all ranks, or to those that `focus` "
                    "names, and answers that are the same are shown once. The job runs already (--attach) and runs on "
                    "at the end, or is started by a COMMAND, such as: srun -n 4 ./app; then its processes stand at "
                    "their first instruction.",
                    "pmixhost debug");
    DebugOptions options;
    parser.add_option("--attach", options.job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")
        ->type_name("JOB");
    parser.add_option("--ranks", options.ranks, "Only these, such as 0-3,7; the others run on [all]");
    parser.add_option("--execute,-e", options.commands, "Say this, and no prompt; may be repeated")
        ->type_name("COMMAND")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    parser.add_option("--timeout", options.patience, "Seconds to wait for all hosts [60]")
        ->check(CLI::Range(1u, 3600u));
    // Between processes of this program.
    parser.add_option("--here", options.here)->group("");
    parser.add_flag("--let-go", options.lets_go)->group("");
    parser
        .add_option("--stop", options.stop,
                    "Where the processes of a COMMAND stop first: at their first instruction (exec), in PMIx_Init "
                    "(init), or where the program itself waits for a debugger (app) [exec]")
        ->type_name("PLACE")
        ->check(CLI::IsMember({"exec", "init", "app"}));
    parser.add_flag("--no-label", options.unlabelled,
                    "What the processes of a COMMAND write comes as it is, without their ranks in front");
    parser.add_flag(
        "--dap", options.dap,
        "Speak the Debug Adapter Protocol with an editor, which starts this as its adapter and says what is "
        "debugged");
    parser.prefix_command();
    if (auto over = parse(parser, words, true))
        return *over;
    std::vector<std::string> command = parser.remaining();
    std::vector<Rank> ranks;
    if (parser.count("--ranks") > 0) {
        auto parsed = ranks_in_words(options.ranks);
        if (!parsed)
            return debug_failure(exit_usage, parsed.failure().text);
        ranks = std::move(*parsed);
    }
    if (!options.here.empty()) {
        HostDebugAsk ask{options.here, std::nullopt, std::chrono::seconds(options.patience),
                         stop_place_of(options.stop)};
        if (!options.ranks.empty())
            ask.ranks = ranks;
        if (options.lets_go)
            return let_go_on_this_host(ask) ? exit_ok : exit_failure;
        debug_this_host(ask, STDIN_FILENO, STDOUT_FILENO);
        return exit_ok;
    }
    bool attaches = parser.count("--attach") > 0;
    if (options.dap) {
        for (const char *option : {"--attach", "--ranks", "--execute", "--stop", "--timeout", "--no-label"}) {
            if (parser.count(option) > 0)
                return debug_failure(exit_usage, fmt::format("--dap: {} is what the editor says", option));
        }
        if (!command.empty())
            return debug_failure(exit_usage, "--dap: what is debugged is what the editor says; next: without " +
                                                 printable(command[0], 100));
        return serve_dap(STDIN_FILENO, STDOUT_FILENO, [](const auto &nspace) { (void)end_rest(nspace); })
                   ? exit_ok
                   : exit_failure;
    }
    if (attaches != command.empty())
        return debug_failure(exit_usage,
                             attaches ? "--attach is for a job that runs; next: without " + printable(command[0], 100)
                                      : "which job? next: --attach JOB, or what starts one: srun ...");
    if (attaches && !options.stop.empty())
        return debug_failure(exit_usage, "--stop is for a job that is started; next: without it, or srun ...");
    if (attaches && options.unlabelled)
        return debug_failure(exit_usage, "--no-label is for a job that is started; next: without it, or srun ...");
    if (attaches)
        return debug_running(options, ranks);
    if (command[0].starts_with('-'))
        return debug_failure(exit_usage, "there is no option " + printable(command[0], 100));
    if (auto allowed = may_be_launched(command); !allowed)
        return debug_failure(exit_usage, allowed.failure().text);
    return debug_launch(std::move(options), command, ranks);
}

} // namespace pmixhost
