// `pmixhost events`: what happens to jobs, a line each, as it happens.
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/event_lines.h"
#include "tools/view/run_by_owner.h"
#include "tools/view/tool_process.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <poll.h>

namespace pmixhost {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto last_lines = std::chrono::seconds(2); // after the end of the server

struct Followed {
    ListedServer server;
    const Desk *desk;
    ListeningTool tool;
    bool ready = false, ended = false;
    Clock::time_point deadline; // to be ready, or, once the server has gone, to say the rest
    bool gone = false;
};

void show(const HeardEvent &event, bool json) {
    if (!json) {
        std::string line = printable(shown_event(event), 4000);
        // The name stands behind the time, two blanks apart.
        std::size_t name = line.find("  ") + 2, end = line.find("  ", name);
        Colours colours(stdout);
        bool is_bad = event.name.starts_with("PMIX_ERR_") || event.exit_code.value_or(0) != 0;
        fmt::print("{}{}{}{}{}\n", line.substr(0, name), is_bad ? colours.red : colours.bold,
                   line.substr(name, end - name), colours.off, line.substr(end));
        return;
    }
    nlohmann::ordered_json out;
    out["time"] = event.time;
    out["event"] = event.name;
    out["code"] = event.code;
    out["source"] = event.source;
    out["affected"] = event.affected;
    out["host"] = event.host.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(event.host);
    out["exit_code"] = event.exit_code ? nlohmann::ordered_json(*event.exit_code) : nlohmann::ordered_json();
    fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool has_gone(pid_t pid) {
    return ::kill(pid, 0) != 0 && errno == ESRCH;
}

class Following {
  public:
    Following(bool json, std::vector<std::string> kinds) : json_(json), kinds_(std::move(kinds)) {}

    // `desk`: by which it is reached, and which outlives this; null: it is on this host.
    void add(const ListedServer &server, const Desk *desk) {
        auto tool = ListeningTool::start(server, [&](int to) { return hear_events(to, server.server.nspace, kinds_); });
        if (tool)
            followed_.push_back({server, desk, std::move(*tool), false, false, Clock::now() + tool_connects_in, false});
        else
            complain(server.job, tool.failure().text);
    }

    // Until all have ended.
    int run() {
        while (std::any_of(followed_.begin(), followed_.end(), [](const auto &one) { return !one.ended; })) {
            std::vector<pollfd> polls;
            for (const auto &one : followed_)
                polls.push_back({one.ended ? -1 : one.tool.fd(), POLLIN, 0});
            ::poll(polls.data(), polls.size(), 500);
            for (std::size_t i = 0; i < followed_.size(); ++i) {
                if (polls[i].revents != 0)
                    hear(followed_[i]);
                if (!followed_[i].ended)
                    look_after(followed_[i]);
            }
            if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
                if (errno != EPIPE) // else nobody reads it any more
                    std::fprintf(stderr, "pmixhost: error: cannot write: %s\n", std::strerror(errno));
                return exit_failure;
            }
        }
        return code_;
    }

  private:
    void complain(const std::string &job, const std::string &why) {
        std::fprintf(stderr, "pmixhost: error: job %s: %s\n", printable(job).c_str(), printable(why, 300).c_str());
        code_ = exit_failure;
    }

    void hear(Followed &one) {
        auto lines = one.tool.read_lines();
        if (!lines) {
            one.ended = true;
            if (!one.ready && code_ == exit_ok)
                complain(one.server.job, "the process that listens came to grief");
            return;
        }
        for (const auto &line : *lines) {
            if (line == "ready") {
                one.ready = true;
                std::fprintf(stderr, "pmixhost: listening to job %s\n", printable(one.server.job).c_str());
            } else if (line.starts_with('!')) {
                complain(one.server.job, line.substr(1));
            } else if (auto event = parse_event_line(line)) {
                show(*event, json_);
            }
        }
    }

    void look_after(Followed &one) {
        bool late = Clock::now() >= one.deadline;
        if (!one.ready) {
            if (late) {
                complain(one.server.job, fmt::format("it does not answer within {} s; next: pmixhost doctor --job JOB",
                                                     tool_connects_in.count()));
                one.ended = true;
            }
        } else if (!one.gone && (has_gone(one.server.server.pid) || (one.desk && !one.desk->serves()))) {
            one.gone = true;
            one.deadline = Clock::now() + last_lines;
        } else if (one.gone && late) {
            one.ended = true;
        }
    }

    bool json_;
    std::vector<std::string> kinds_;
    std::vector<Followed> followed_;
    int code_ = exit_ok;
};

} // namespace

int events_command(const Words &words) {
    CLI::App parser("Shows what happens to your jobs that have processes on this host, until they end or it is "
                    "interrupted.",
                    "pmixhost events");
    std::vector<std::string> names, kinds;
    bool json = false;
    parser.add_option("JOB", names, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them [all]");
    parser.add_option("--kind", kinds, "Only these: " + event_kinds() + ", or the number of an event")
        ->type_name("KIND")
        ->delimiter(',')
        ->expected(1)
        ->allow_extra_args(false) // JOB stands behind it
        ->take_all();
    parser.add_flag("--json", json, "Write each as a JSON object, one a line");
    if (auto over = parse(parser, words))
        return *over;
    if (auto known = check_event_kinds(kinds); !known) {
        std::fprintf(stderr, "pmixhost: error: %s (see pmixhost events --help)\n", known.failure().text.c_str());
        return exit_usage;
    }
    AskedRun run{"events", {}};
    if (!kinds.empty())
        run.words.push_back(fmt::format("--kind={}", fmt::join(kinds, ",")));
    if (json)
        run.words.emplace_back("--json");
    auto all = servers_here();
    std::map<std::string, ListedServer> servers; // by job: where it has several here, one of them hears all
    std::vector<Desk> desks;                     // as long as their servers are heard
    for (const auto &name : names) {
        auto meant = servers_of(all, name);
        for (auto &one : meant)
            servers.emplace(one.job, one);
        if (!meant.empty())
            continue;
        auto desk = [&] {
            ProgressLine progress("calling job " + printable(name));
            return Desk::reach(name, desk_patience, names.size() == 1 ? &run : nullptr);
        }();
        if (!desk) {
            std::fprintf(stderr, "pmixhost: error: job %s: not on this host, and not reached elsewhere: %s\n",
                         printable(name).c_str(), printable(desk.failure().text, 300).c_str());
            return exit_failure;
        }
        if (desk->runs_it())
            return show_run(std::move(*desk));
        servers.emplace(desk->server().job, desk->server());
        desks.push_back(std::move(*desk));
    }
    if (names.empty()) {
        for (auto &one : all)
            servers.emplace(one.job, one);
    }
    if (servers.empty()) {
        std::fputs("pmixhost: error: no job of yours is on this host; next: run this on a host of the job\n", stderr);
        return exit_failure;
    }
    Following following(json, kinds);
    for (const auto &entry : servers) {
        auto desk = std::find_if(desks.begin(), desks.end(),
                                 [&entry](const Desk &one) { return one.server().job == entry.first; });
        following.add(entry.second, desk == desks.end() ? nullptr : &*desk);
    }
    return following.run();
}

} // namespace pmixhost
