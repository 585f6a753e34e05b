// `pmixhost ps`: the processes of one's own jobs that run on this host, those on the jobs' other hosts among them.
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/view/desk.h"
#include "tools/view/process_list.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>

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

void show_text(const std::vector<ShownJob> &jobs) {
    std::size_t width = 3, host_width = 4, state_width = 5;
    for (const auto &job : jobs) {
        width = std::max(width, job.server.job.size());
        for (const auto &one : job.processes) {
            host_width = std::max(host_width, one.host.size());
            state_width = std::max(state_width, one.state.size());
        }
    }
    fmt::print("{:<{}}  {:>6}  {:<{}}  {:>8}  {:<{}}  EXECUTABLE\n", "JOB", width, "RANK", "HOST", host_width, "PID",
               "STATE", state_width);
    for (const auto &job : jobs)
        for (const auto &one : job.processes)
            fmt::print("{:<{}}  {:>6}  {:<{}}  {:>8}  {:<{}}  {}\n", job.server.job, width, one.rank,
                       printable(one.host), host_width, one.pid, printable(one.state), state_width,
                       printable(one.executable));
}

} // namespace

int ps_command(const Words &words) {
    CLI::App parser("Lists the processes of your jobs on this host, with those that they have on others.",
                    "pmixhost ps");
    bool json = false;
    std::vector<std::string> names;
    unsigned patience = 10;
    parser.add_option("JOB", names, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them [all]");
    parser.add_flag("--json", json, "Write them as JSON");
    parser.add_option("--timeout", patience, "Seconds to wait for each job's answer [10]")
        ->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    int code = exit_ok;
    auto complain = [&code](const std::string &job, const std::string &why) {
        std::fprintf(stderr, "pmixhost: error: job %s: %s\n", printable(job).c_str(), why.c_str());
        code = exit_failure;
    };
    auto all = servers_below(rendezvous_root());
    std::map<std::string, ListedServer> servers; // by job: where it has several here, one of them knows all
    std::vector<Desk> desks;                     // as long as their servers are asked
    for (const auto &name : names) {
        auto meant = servers_of(all, name);
        if (meant.empty()) {
            auto desk = Desk::open(name, std::chrono::seconds(patience));
            if (!desk) {
                complain(name, "not on this host, and not reached elsewhere: " + desk.failure().text);
                continue;
            }
            meant.push_back(desk->server());
            desks.push_back(std::move(*desk));
        }
        for (auto &one : meant)
            servers.emplace(one.job, one);
    }
    for (const auto &one : names.empty() ? all : std::vector<ListedServer>())
        servers.emplace(one.job, one);
    std::vector<ShownJob> jobs;
    for (const auto &[job, server] : servers) {
        auto processes = processes_of(server, std::chrono::seconds(patience));
        if (processes)
            jobs.push_back({server, std::move(*processes)});
        else
            complain(job, processes.failure().text);
    }
    if (json)
        show_json(jobs);
    else if (!jobs.empty() || code == exit_ok)
        show_text(jobs);
    return code;
}

} // namespace pmixhost
