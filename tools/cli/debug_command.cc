// `pmixhost debug`: gdb on the processes of a job, all from one prompt; the job runs already, or is started with its
// processes stopped at their first instruction, in PMIx_Init or where they say. On each host of the job the same
// command (--here) has a gdb for each rank; it is brought there by the program of the resource manager's plugin
// (tools/doctor/host_checks.h), whose input and output are the way to it.
#include "common/job/debug_stops.h"
#include "common/text/printable.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/parse.h"
#include "tools/cli/rank_list.h"
#include "tools/debug/debug_talk.h"
#include "tools/debug/debugged_launch.h"
#include "tools/debug/host_debug.h"
#include "tools/debug/line_editor.h"
#include "tools/doctor/host_checks.h"
#include "tools/view/desk.h"
#include "tools/view/process_list.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <unistd.h>

namespace pmixhost {

namespace {

struct DebugOptions {
    std::string job, ranks, here;
    std::string stop; // where the job's processes stop for this; empty: they run
    std::vector<std::string> commands;
    unsigned patience = 60;
};

// Nothing for what is none.
std::optional<StopPlace> place_of(const std::string &name) {
    for (StopPlace place : stop_places) {
        if (name == stop_place_words[static_cast<std::size_t>(place)])
            return place;
    }
    return std::nullopt;
}

int debug_failure(int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? " (see pmixhost debug --help)" : "");
    return code;
}

// The parts on the hosts of the job. Where no resource manager's program knows it, its hosts are virtual ones of this
// machine.
Result<DebugLink> link_to_hosts(const DebugOptions &options, const std::string &nspace,
                                const std::function<bool()> &job_is_over) {
    std::error_code failed;
    std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe", failed).string(),
                                   "debug",
                                   "--here",
                                   nspace,
                                   "--timeout",
                                   std::to_string(options.patience)};
    if (!options.ranks.empty())
        words.insert(words.end(), {"--ranks", options.ranks});
    if (!options.stop.empty())
        words.insert(words.end(), {"--stop", options.stop});
    for (const auto &program : check_programs()) {
        std::vector<std::string> all{program, "--talk-to", nspace};
        all.insert(all.end(), words.begin(), words.end());
        auto link = DebugLink::open(all);
        if (!link)
            return link;
        // Who does not know the job ends at once, and says nothing.
        while (link->is_open() && !link->has_spoken() && !was_interrupted() && !job_is_over())
            link->await_first_word(std::chrono::milliseconds(100));
        constexpr int no_such_job_there = 3;
        if (link->is_open() || link->exit_code() != no_such_job_there)
            return link;
    }
    return DebugLink::open(words);
}

int talk(DebugLink &link, const DebugOptions &options, const std::vector<Rank> &ranks,
         const std::function<bool()> &job_is_over) {
    await_interrupt();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGTSTP, SIG_IGN); // ranks that stand still want somebody there
    auto interrupted = [] { return take_interrupt() || is_told_to_end(); };
    DebugTalk debugger(link, ranks, [&] { return interrupted() || job_is_over(); });
    std::size_t count = debugger.begin(std::chrono::seconds(options.patience));
    if (count == 0) {
        std::string why = link.is_open() ? std::string() : one_line(link.complaints(), 500);
        return debug_failure(exit_failure, "no process is debugged" + (why.empty() ? why : ": " + why));
    }
    LineEditor editor({[&](const std::string &line) { return debugger.complete(line); }, [&] { return debugger.fd(); },
                       [&] { debugger.listen(); }, [&] { debugger.stay(); }, std::chrono::seconds(5), interrupted,
                       interrupt_fd()});
    bool goes_on = true;
    for (const auto &command : options.commands) {
        goes_on = goes_on && !is_told_to_end() && debugger.is_open() && debugger.obey(command);
    }
    while (goes_on && options.commands.empty() && debugger.is_open()) {
        auto line = editor.read(debugger.prompt());
        goes_on = line && !is_told_to_end() && debugger.is_open() && debugger.obey(*line);
    }
    interrupt_as_before();
    return debugger.some_refused() ? exit_some : exit_ok;
}

// `job_is_over`: there is nothing to wait for any more.
int debug_ranks(const DebugOptions &options, const std::string &nspace, const std::vector<Rank> &ranks,
                const std::function<bool()> &job_is_over) {
    auto link = link_to_hosts(options, nspace, job_is_over);
    if (!link)
        return debug_failure(exit_failure, link.failure().text);
    return talk(*link, options, ranks, job_is_over);
}

int debug_running(const DebugOptions &options, const std::vector<Rank> &ranks) {
    auto found = find_server(options.job, std::chrono::seconds(options.patience));
    if (!found)
        return debug_failure(exit_failure, found.failure().text);
    auto list = processes_of(found->server, std::chrono::seconds(options.patience));
    if (!list)
        return debug_failure(exit_failure, "job " + printable(found->server.job) + ": " + list.failure().text);
    std::vector<Rank> there;
    for (const auto &process : *list) {
        if (process.pid > 0 && (ranks.empty() || std::binary_search(ranks.begin(), ranks.end(), process.rank)))
            there.push_back(process.rank);
    }
    if (there.empty())
        return debug_failure(exit_failure,
                             "job " + printable(found->server.job) + " has none of these ranks, or none runs");
    std::string nspace = found->server.job;
    found->desk.reset();
    return debug_ranks(options, nspace, there, [] { return false; });
}

// The command's exit code is the launcher's, unless nothing could be debugged.
int debug_launch(DebugOptions options, const std::vector<std::string> &command, const std::vector<Rank> &ranks) {
    if (options.stop.empty())
        options.stop = "exec";
    DebugStops stops;
    for (Rank rank : ranks)
        stops.at(*place_of(options.stop)).add(rank, rank);
    await_interrupt();
    auto launch = DebuggedLaunch::start(command, ranks.empty() ? options.stop : stops.text());
    if (!launch)
        return debug_failure(exit_failure, launch.failure().text);
    auto job = launch->await_job(was_interrupted);
    if (!job && was_interrupted())
        return exit_failure;
    if (!job) {
        int code = launch->await_end(take_interrupt, is_told_to_end);
        debug_failure(exit_failure, fmt::format("{} has ended ({}), and has started no job that pmixhost serves; next: "
                                                "srun --mpi=pmixhost, or the words of srun above",
                                                printable(command[0], 200), code));
        return code != 0 ? code : exit_failure;
    }
    std::vector<Rank> all(job->processes);
    std::iota(all.begin(), all.end(), 0);
    int code = debug_ranks(options, job->nspace, ranks.empty() ? all : ranks, [&launch] { return !launch->runs(); });
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
    parser.add_option("--here", options.here)->group(""); // between processes of this program
    parser
        .add_option("--stop", options.stop,
                    "Where the processes of a COMMAND stop first: at their first instruction (exec), in PMIx_Init "
                    "(init), or where the program itself waits for a debugger (app) [exec]")
        ->type_name("PLACE")
        ->check(CLI::IsMember({"exec", "init", "app"}));
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
        HostDebugAsk ask{options.here, std::nullopt, std::chrono::seconds(options.patience), place_of(options.stop)};
        if (!options.ranks.empty())
            ask.ranks = ranks;
        debug_this_host(ask, STDIN_FILENO, STDOUT_FILENO);
        return exit_ok;
    }
    bool attaches = parser.count("--attach") > 0;
    if (attaches != command.empty())
        return debug_failure(exit_usage,
                             attaches ? "--attach is for a job that runs; next: without " + printable(command[0], 100)
                                      : "which job? next: --attach JOB, or what starts one: srun ...");
    if (attaches && !options.stop.empty())
        return debug_failure(exit_usage, "--stop is for a job that is started; next: without it, or srun ...");
    if (attaches)
        return debug_running(options, ranks);
    if (command[0].starts_with('-'))
        return debug_failure(exit_usage, "there is no option " + printable(command[0], 100));
    // What starts several would have all of them stop, and one debugged.
    if (command[0].substr(command[0].rfind('/') + 1) != "srun")
        return debug_failure(exit_usage, printable(command[0], 100) + " is not srun; next: srun ...");
    if (std::find(command.begin(), command.end(), ":") != command.end())
        return debug_failure(exit_usage,
                             "a heterogeneous job is not started for this; next: start it, and --attach JOB");
    if (std::any_of(command.begin(), command.end(),
                    [](std::string_view word) { return word == "--pty" || word.starts_with("--pty="); }))
        return debug_failure(exit_usage, "--pty takes the terminal, which is the prompt's; next: without it");
    return debug_launch(std::move(options), command, ranks);
}

} // namespace pmixhost
