// `pmixhost servers`: which PMIx servers one's own tools find on this host.
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"
#include "tools/view/server_list.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace pmixhost {

namespace {

std::string time_text(std::time_t time) {
    tm parts{};
    char text[64] = "-";
    if (time != 0 && localtime_r(&time, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    return text;
}

void show_json(const std::vector<ListedServer> &servers) {
    auto out = nlohmann::ordered_json::array();
    for (const auto &one : servers) {
        nlohmann::ordered_json entry;
        entry["job"] = one.job;
        entry["namespace"] = one.server.nspace;
        entry["rank"] = one.server.rank;
        entry["pid"] = one.server.pid;
        entry["version"] = one.server.version;
        entry["uri"] = rendezvous_uri(one.server);
        entry["started"] =
            one.server.started == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(one.server.started);
        entry["file"] = one.file;
        out.push_back(std::move(entry));
    }
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Columns; the first is as wide as the longest job.
void show_text(const std::vector<ListedServer> &servers) {
    std::size_t width = 3;
    for (const auto &one : servers)
        width = std::max(width, one.job.size());
    Colours colours(stdout);
    fmt::print("{}{:<{}}  {:>4}  {:>8}  {:<8}  {:<19}  ADDRESS{}\n", colours.bold, "JOB", width, "RANK", "PID",
               "VERSION", "STARTED", colours.off);
    for (const auto &one : servers)
        fmt::print("{:<{}}  {:>4}  {:>8}  {:<8}  {:<19}  {}\n", one.job, width, one.server.rank, one.server.pid,
                   one.server.version, time_text(one.server.started), one.server.address);
}

} // namespace

int servers_command(const Words &words) {
    CLI::App parser("Lists the PMIx servers of this host that your tools can reach.", "pmixhost servers");
    bool json = false;
    parser.add_flag("--json", json, "Write them as JSON");
    if (auto over = parse(parser, words))
        return *over;
    auto servers = servers_below(rendezvous_root());
    if (json) {
        show_json(servers);
    } else if (!servers.empty()) {
        show_text(servers);
    } else {
        std::fprintf(stderr,
                     "pmixhost: no PMIx server of yours runs on this host, as far as %s shows; next: look on a host of "
                     "the job, or set PMIX_SYSTEM_TMPDIR to directory.base of pmixhost.conf\n",
                     printable(rendezvous_root()).c_str());
    }
    return exit_ok;
}

} // namespace pmixhost
