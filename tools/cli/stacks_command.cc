// `pmixhost stacks`: where all processes of a job are, merged into one tree: why does my job hang? On each host of the
// job the same command (--here) asks a debugger; it is brought there by the program of the resource manager's plugin
// (tools/doctor/host_checks.h).
#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/cli/parse.h"
#include "tools/doctor/host_checks.h"
#include "tools/stacks/host_stacks.h"
#include "tools/stacks/read_stacks.h"
#include "tools/stacks/shown_text.h"
#include "tools/stacks/stack_lines.h"
#include "tools/stacks/stack_report.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/rank_list.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/process_list.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace pmixhost {

namespace {

struct StacksOptions {
    std::string job, ranks, output, debugger, here;
    std::vector<std::string> cores;
    bool json = false, html = false, svg = false, threads = false, lines = false;
    unsigned patience = 60;
};
using CoreFiles = std::map<Rank, std::string>;

int stacks_failure(int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? " (see pmixhost stacks --help)" : "");
    return code;
}

Result<CoreFiles> core_files(const std::vector<std::string> &words) {
    CoreFiles out;
    for (const auto &word : words) {
        auto equals = word.find('=');
        Rank rank = 0;
        auto end = std::from_chars(word.data(), word.data() + std::min(equals, word.size()), rank);
        if (equals == word.npos || equals == 0 || end.ec != std::errc() || end.ptr != word.data() + equals ||
            equals + 1 == word.size())
            return error(ErrorKind::invalid, "--core is '{}'; allowed: RANK=FILE", printable(word));
        out[rank] = word.substr(equals + 1);
    }
    return out;
}

// What the hosts of the job have found, by rank. `trouble`: why there may be less than there should be.
std::map<Rank, ProcessStacks> ask_hosts(const StacksOptions &options, const std::string &nspace, std::string &trouble) {
    std::error_code failed;
    std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe", failed).string(),
                                   "stacks",
                                   "--here",
                                   nspace,
                                   "--timeout",
                                   std::to_string(std::max(1u, options.patience * 4 / 5))};
    if (!options.ranks.empty())
        words.insert(words.end(), {"--ranks", options.ranks});
    if (options.threads)
        words.emplace_back("--threads");
    if (!options.debugger.empty())
        words.insert(words.end(), {"--with", options.debugger});
    constexpr int no_such_job_there = 3; // what a plugin's program says
    CaptureBounds bounds;
    bounds.patience = std::chrono::seconds(options.patience);
    // The hosts' looks end by the end of their input: srun would kill them with their debuggers, which would leave
    // ranks stopped.
    bounds.to_end_by_input = std::chrono::seconds(15); // a look needs to_let_go, to_be_killed and 5 s at most
    bounds.to_end = std::chrono::seconds(2);
    bounds.most = 256u << 20;
    bounds.stop = was_interrupted;
    std::optional<Result<CapturedPart>> said;
    await_interrupt();
    for (const auto &program : check_programs()) {
        std::vector<std::string> all{program, "--talk-to", nspace};
        all.insert(all.end(), words.begin(), words.end());
        auto one = capture_what_comes(all, bounds);
        if (one && !one->cut && one->code == no_such_job_there)
            continue;
        said.emplace(std::move(one));
        break;
    }
    if (!said) // nobody's job: its hosts are virtual ones of this machine, or it has ended
        said.emplace(capture_what_comes(words, bounds));
    interrupt_as_before();
    StackLines lines;
    for (std::string_view rest = *said ? std::string_view((*said)->out) : std::string_view(); !rest.empty();)
        lines.add(take_until(rest, '\n'));
    if (!*said)
        trouble = said->failure().text;
    else if ((*said)->cut)
        trouble = (*said)->cut->text;
    else if ((*said)->code != 0)
        trouble = one_line((*said)->err, 300);
    std::map<Rank, ProcessStacks> out;
    for (auto &process : lines.take())
        out.emplace(process.rank, std::move(process));
    return out;
}

std::string why_missing(const ListedProcess &process, const std::string &trouble) {
    if (process.pid == 0)
        return fmt::format("it does not run ({})", shown_text(process.state, 80));
    return fmt::format("its host has not answered{}{}; next: run pmixhost doctor there", trouble.empty() ? "" : ": ",
                       shown_text(trouble, 300));
}

void add_cores(std::vector<ProcessStacks> &processes, const CoreFiles &cores, const StacksOptions &options) {
    std::atomic<bool> never = false;
    auto debugger = find_debugger(options.debugger);
    for (const auto &[rank, file] : cores) {
        auto known = std::find_if(processes.begin(), processes.end(),
                                  [rank = rank](const auto &one) { return one.rank == rank; });
        ProcessStacks process;
        process.rank = rank;
        process.host = known != processes.end() ? known->host : std::string();
        std::string executable = known != processes.end() ? known->executable : std::string();
        if (executable.empty() || executable[0] != '/' || ::access(executable.c_str(), R_OK) != 0)
            executable.clear();
        StackWish wish;
        wish.all_threads = options.threads;
        wish.deadline = StackClock::now() + std::chrono::seconds(options.patience);
        wish.longest_stop = std::chrono::seconds(options.patience); // nothing is stopped
        wish.over = &never;
        if (debugger)
            read_core(process, file, executable, *debugger, wish);
        else
            process.why = debugger.failure().text;
        if (known != processes.end())
            *known = std::move(process);
        else
            processes.push_back(std::move(process));
    }
}

Result<StackReport> look_at_job(const StacksOptions &options, const CoreFiles &cores, const std::vector<Rank> &ranks) {
    std::vector<ProcessStacks> processes;
    std::string nspace;
    if (!options.job.empty() || cores.empty()) {
        ProgressLine progress("looking at job " + printable(options.job));
        auto found = find_server(options.job, std::chrono::seconds(options.patience));
        if (!found)
            return found.failure();
        if (found->desk && found->desk->is_anothers())
            return not_for_others(found->server.job);
        nspace = found->server.job;
        auto list = processes_of(found->server, std::chrono::seconds(options.patience));
        if (!list)
            return error(list.failure().kind, "job {}: {}", printable(nspace), list.failure().text);
        std::erase_if(*list, [&](const auto &one) {
            return !ranks.empty() && !std::binary_search(ranks.begin(), ranks.end(), one.rank);
        });
        if (list->empty())
            return error(ErrorKind::not_found, "job {0} has none of these ranks; next: pmixhost ps {0}",
                         printable(nspace));
        std::string trouble;
        auto read = ask_hosts(options, nspace, trouble);
        if (was_interrupted())
            return error(ErrorKind::timeout, "the look was ended; the processes run on");
        for (const auto &one : *list) {
            ProcessStacks process;
            process.rank = one.rank;
            if (auto there = read.find(one.rank); there != read.end())
                process = std::move(there->second);
            else
                process.why = why_missing(one, trouble);
            process.host = shown_text(one.host, 256); // what the job's server calls it
            if (process.executable.empty())
                process.executable = shown_text(one.executable, max_frame_text);
            processes.push_back(std::move(process));
        }
    }
    add_cores(processes, cores, options);
    return StackReport::of(shown_text(nspace, 256), std::move(processes), options.lines);
}

int write_report(const StacksOptions &options, const StackReport &report) {
    Colours colours(stdout);
    StackPaint paint{colours.yellow, colours.green, colours.red, colours.off};
    std::string text = options.json   ? report_json(report)
                       : options.html ? report_html(report)
                       : options.svg  ? report_svg(report)
                                      : report_text(report, options.output.empty() ? paint : StackPaint());
    UniqueFd file;
    if (!options.output.empty()) {
        file.reset(::open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
        if (!file)
            return stacks_failure(exit_failure, system_error(printable(options.output, 300), errno).text);
    }
    int to = file ? file.get() : STDOUT_FILENO;
    if (!write_whole(to, text))
        return stacks_failure(exit_failure, system_error("cannot write", errno).text);
    if (report.read() == 0) {
        std::string why = report.processes.empty() ? std::string() : report.processes[0].why;
        return stacks_failure(exit_failure, "no process could be looked at: " + why);
    }
    bool all = std::all_of(report.processes.begin(), report.processes.end(),
                           [](const auto &process) { return process.why.empty(); });
    return all ? exit_ok : exit_some;
}

[[noreturn]] void look_here(const StacksOptions &options, const std::vector<Rank> &ranks) {
    HostStacksAsk ask;
    ask.nspace = options.here;
    if (!options.ranks.empty())
        ask.ranks = ranks;
    ask.all_threads = options.threads;
    ask.debugger = options.debugger;
    ask.patience = std::chrono::seconds(options.patience);
    auto processes = stacks_of_this_host(ask);
    if (!processes.empty())
        std::fputs(lines_of_stacks(name_of_this_host(), processes).c_str(), stdout);
    std::fflush(stdout);
    ::_exit(exit_ok); // a thread may hang
}

} // namespace

int stacks_command(const Words &words) {
    CLI::App parser(
        "Shows where the processes of a job are: their stacks, merged into one tree that says which ranks are "
        "in which call. Each process is stopped for a moment and runs on.",
        "pmixhost stacks");
    StacksOptions options;
    parser.add_option("JOB", options.job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them");
    parser.add_option("--ranks", options.ranks, "Only these, such as 0-3,7 [all]");
    parser.add_flag("--threads", options.threads, "All threads, not only the one that each process began with");
    parser.add_flag("--lines", options.lines, "Tell calls apart that are in the same function, but at other lines");
    parser.add_option("--core", options.cores, "Read this core file of a rank that has died; may be repeated")
        ->type_name("RANK=FILE")
        ->expected(1)
        ->allow_extra_args(false) // JOB stands behind it
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    auto *json = parser.add_flag("--json", options.json, "Write JSON");
    auto *html = parser.add_flag("--html", options.html, "Write a page for a browser")->excludes(json);
    parser.add_flag("--svg", options.svg, "Write a picture")->excludes(json)->excludes(html);
    parser.add_option("--output", options.output, "Write to this file")->type_name("FILE");
    parser.add_option("--with", options.debugger, "The debugger to use: gdb or eu-stack [gdb if there]")
        ->check(CLI::IsMember({"gdb", "eu-stack"}))
        ->type_name("DEBUGGER");
    parser.add_option("--timeout", options.patience, "Seconds to wait for all hosts [60]")
        ->check(CLI::Range(1u, 3600u));
    parser.add_option("--here", options.here)->group(""); // between processes of this program
    if (auto over = parse(parser, words))
        return *over;
    std::vector<Rank> ranks;
    if (parser.count("--ranks") > 0) {
        auto parsed = ranks_in_words(options.ranks);
        if (!parsed)
            return stacks_failure(exit_usage, parsed.failure().text);
        ranks = std::move(*parsed);
    }
    auto cores = core_files(options.cores);
    if (!cores)
        return stacks_failure(exit_usage, cores.failure().text);
    if (!options.here.empty())
        look_here(options, ranks);
    auto report = look_at_job(options, *cores, ranks);
    return report ? write_report(options, *report) : stacks_failure(exit_failure, report.failure().text);
}

} // namespace pmixhost
