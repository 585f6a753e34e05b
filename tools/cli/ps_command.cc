// `pmixhost ps`: the processes of one's own jobs that run on this host, those on the jobs' other hosts among them; or
// of all of one's jobs.
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/terminal.h"
#include "tools/view/all_jobs.h"
#include "tools/view/process_list.h"
#include "tools/view/run_by_owner.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace pmixhost {

namespace {

struct ShownJob {
    ListedServer server;
    std::vector<ListedProcess> processes;
};

void show_json(const std::vector<ShownJob> &jobs) {
    auto out = nlohmann::ordered_json::array();
    for (const auto &job : jobs) {
        nlohmann::ordered_json entry;
        entry["job"] = job.server.job;
        entry["processes"] = nlohmann::ordered_json::array();
        for (const auto &one : job.processes) {
            nlohmann::ordered_json process;
            process["rank"] = one.rank;
            process["host"] = one.host;
            process["pid"] = one.pid;
            process["state"] = one.state;
            process["executable"] = one.executable;
            entry["processes"].push_back(std::move(process));
        }
        out.push_back(std::move(entry));
    }
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::vector<std::string> table_of(const std::vector<ShownJob> &jobs) {
    std::size_t width = 3, host_width = 4, state_width = 5;
    for (const auto &job : jobs) {
        width = std::max(width, job.server.job.size());
        for (const auto &one : job.processes) {
            host_width = std::max(host_width, one.host.size());
            state_width = std::max(state_width, one.state.size());
        }
    }
    std::vector<std::string> lines{fmt::format("{:<{}}  {:>6}  {:<{}}  {:>8}  {:<{}}  EXECUTABLE", "JOB", width, "RANK",
                                               "HOST", host_width, "PID", "STATE", state_width)};
    for (const auto &job : jobs)
        for (const auto &one : job.processes)
            lines.push_back(fmt::format("{:<{}}  {:>6}  {:<{}}  {:>8}  {:<{}}  {}", printable(job.server.job, 300),
                                        width, one.rank, printable(one.host), host_width, one.pid, printable(one.state),
                                        state_width, printable(one.executable)));
    return lines;
}

// The jobs that are asked for, by name: where one has several servers here, one of them knows all.
using Servers = std::map<std::string, ListedServer>;

// What there is, and what is wrong with the rest.
struct Gathered {
    std::vector<ShownJob> jobs;
    std::vector<std::string> complaints;
    std::string note;            // nothing is wrong, but not all is there; may be empty
    std::optional<Desk> runs_it; // of another user, which lists the one job in our place
};

using Desks = std::map<std::string, Desk>; // by what was asked for

// `everywhere`: all jobs, and `names` is empty; else null. `desks`: by which jobs elsewhere are reached, those of the
// last time where they still serve. `run`: see Desk::visit(). `stop`: see StopAsking.
Gathered gather(const std::vector<std::string> &names, AllJobs *everywhere, std::chrono::seconds patience, Desks &desks,
                const AskedRun *run = nullptr, const StopAsking &stop = {}) {
    Gathered gathered;
    auto complain = [&gathered](const std::string &job, const std::string &why) {
        gathered.complaints.push_back(fmt::format("job {}: {}", printable(job), printable(why, 300)));
    };
    auto all = servers_here();
    Servers servers;
    std::erase_if(desks, [](const auto &entry) { return !entry.second.serves(); });
    for (const auto &name : names) {
        auto meant = servers_of(all, name);
        if (auto known = desks.find(name); meant.empty() && known != desks.end())
            meant.push_back(known->second.server());
        if (meant.empty()) {
            auto desk = Desk::reach(name, patience, run, stop);
            if (!desk) {
                complain(name, "not on this host, and not reached elsewhere: " + desk.failure().text);
                continue;
            }
            if (desk->runs_it()) {
                gathered.runs_it.emplace(std::move(*desk));
                return gathered;
            }
            meant.push_back(desk->server());
            desks.emplace(name, std::move(*desk));
        }
        for (auto &one : meant)
            servers.emplace(one.job, one);
    }
    if (everywhere) {
        auto seen = everywhere->look(all, patience, stop);
        all = std::move(seen.servers);
        gathered.complaints = std::move(seen.complaints);
        gathered.note = std::move(seen.unserved);
    }
    for (const auto &one : names.empty() ? all : std::vector<ListedServer>())
        servers.emplace(one.job, one);
    std::vector<ListedServer> asked;
    for (auto &entry : servers)
        asked.push_back(std::move(entry.second));
    auto answers = processes_of_each(asked, patience, false, stop);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (answers[i])
            gathered.jobs.push_back({asked[i], std::move(*answers[i])});
        else if (!everywhere || !everywhere->has_ended(asked[i]))
            complain(asked[i].job, answers[i].failure().text);
    }
    return gathered;
}

// Draws over what was drawn before, as many lines as the terminal has. False: nobody looks any more.
bool draw(const Gathered &gathered) {
    winsize size{};
    bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    std::size_t rows = known && size.ws_row > 0 ? size.ws_row : 24,
                columns = known && size.ws_col > 0 ? size.ws_col : 80;
    std::size_t processes = 0;
    for (const auto &job : gathered.jobs)
        processes += job.processes.size();
    std::time_t now = std::time(nullptr);
    tm parts{};
    char time[32] = "";
    if (localtime_r(&now, &parts))
        strftime(time, sizeof time, "%H:%M:%S", &parts);
    std::vector<std::string> lines{fmt::format("{}  {} jobs, {} processes", time, gathered.jobs.size(), processes)};
    lines.insert(lines.end(), gathered.complaints.begin(), gathered.complaints.end());
    if (!gathered.note.empty())
        lines.push_back(gathered.note);
    const std::size_t heading = lines.size();
    for (auto &line : table_of(gathered.jobs))
        lines.push_back(std::move(line));
    if (lines.size() > rows) {
        std::size_t left = lines.size() - rows + 1;
        lines.resize(rows - 1);
        lines.push_back(fmt::format("... {} more lines", left));
    }
    Colours colours(stdout);
    std::string screen = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        bool is_bold = i == heading && i + 1 < lines.size();
        screen += fmt::format("{}{}{}{}\x1b[K", i == 0 ? "" : "\r\n", is_bold ? colours.bold : "",
                              lines[i].substr(0, columns), is_bold ? colours.off : "");
    }
    return write_whole(STDOUT_FILENO, screen + "\x1b[J", was_interrupted);
}

// Another screen, without a cursor: what was on the terminal comes back when this is dropped.
class OtherScreen {
  public:
    OtherScreen() { write_whole(STDOUT_FILENO, "\x1b[?1049h\x1b[?25l\x1b[2J"); }
    ~OtherScreen() {
        pollfd room{STDOUT_FILENO, POLLOUT, 0};
        if (::poll(&room, 1, 1000) > 0) // else nobody reads it, and it is to end all the same
            write_whole(STDOUT_FILENO, "\x1b[?25h\x1b[?1049l");
    }
    OtherScreen(const OtherScreen &) = delete;
};

// Until it is interrupted, or nobody looks any more.
int watch(const std::vector<std::string> &names, AllJobs *everywhere, std::chrono::seconds patience) {
    constexpr auto interval = std::chrono::seconds(2);
    await_interrupt();
    for (int signal : {SIGQUIT, SIGTSTP}) // they would leave the terminal as it is
        std::signal(signal, SIG_IGN);
    OtherScreen screen;
    bool is_seen = true;
    Desks desks;
    while (!was_interrupted() && is_seen) {
        auto next = std::chrono::steady_clock::now() + interval;
        auto gathered = gather(names, everywhere, patience, desks, nullptr, was_interrupted);
        is_seen = was_interrupted() || draw(gathered);
        for (;;) {
            auto left = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now()).count();
            if (left <= 0 || was_interrupted())
                break;
            ::poll(nullptr, 0, static_cast<int>(left));
        }
    }
    return exit_ok;
}

} // namespace

int ps_command(const Words &words) {
    CLI::App parser("Lists the processes of your jobs on this host, with those that they have on others.",
                    "pmixhost ps");
    bool json = false, live = false, all = false;
    std::vector<std::string> names;
    unsigned patience = 10;
    auto *named = parser.add_option("JOB", names, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them [all]");
    parser.add_flag("-a,--all-hosts", all, "All of your jobs, also those that have no process on this host")
        ->excludes(named);
    parser.add_flag("--json", json, "Write them as JSON");
    parser.add_flag("-w,--watch", live,
                    "Draw them again every two seconds, until it is interrupted; on a terminal only");
    parser.add_option("--timeout", patience, "Seconds to wait for each job's answer [10]")
        ->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    std::optional<AllJobs> everywhere;
    if (all)
        everywhere.emplace();
    AllJobs *reach = all ? &*everywhere : nullptr;
    if (live) {
        if (!json && is_terminal(stdout))
            return watch(names, reach, std::chrono::seconds(patience));
        std::fputs("pmixhost: error: -w is for a terminal; next: without it, or with --json, again and again\n",
                   stderr);
        return exit_usage;
    }
    AskedRun run{"ps", {fmt::format("--timeout={}", patience)}};
    if (json)
        run.words.emplace_back("--json");
    std::optional<ProgressLine> progress("waiting for the jobs");
    Desks desks; // as long as their servers are asked
    Gathered gathered = gather(names, reach, std::chrono::seconds(patience), desks, names.size() == 1 ? &run : nullptr);
    progress.reset();
    if (gathered.runs_it)
        return show_run(std::move(*gathered.runs_it));
    for (const auto &one : gathered.complaints)
        std::fprintf(stderr, "pmixhost: error: %s\n", one.c_str());
    if (!gathered.note.empty())
        std::fprintf(stderr, "pmixhost: %s\n", gathered.note.c_str());
    int code = gathered.complaints.empty() ? exit_ok : exit_failure;
    if (json) {
        show_json(gathered.jobs);
    } else if (!gathered.jobs.empty() || code == exit_ok) {
        Colours colours(stdout);
        auto lines = table_of(gathered.jobs);
        fmt::print("{}{}{}\n", colours.bold, lines.front(), colours.off);
        for (std::size_t i = 1; i < lines.size(); ++i)
            fmt::print("{}\n", lines[i]);
    }
    return code;
}

} // namespace pmixhost
