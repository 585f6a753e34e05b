// See controller_config.h.
#include "plugins/slurm/check/controller_config.h"

#include "common/text/take_until.h"
#include "common/text/trimmed.h"

#include <cstdlib>
#include <fmt/format.h>

namespace pmixhost::slurm {

namespace {

// "2026-11-23T11:40:01"
std::time_t time_of(std::string_view text) {
    std::tm parts{};
    std::string own(text);
    const char *end = ::strptime(own.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    return end ? ::timegm(&parts) : 0;
}

constexpr std::time_t clock_warning = 3;   // the command itself takes its time, and says whole seconds
constexpr std::time_t clock_problem = 240; // munge takes credentials of at most five minutes

} // namespace

std::string ControllerConfig::operator[](std::string_view name) const {
    auto found = values.find(name);
    return found == values.end() || found->second == "(null)" ? std::string() : found->second;
}

ControllerConfig parse_controller_config(std::string_view text) {
    constexpr std::string_view begin_of_time = "Configuration data as of ";
    ControllerConfig config;
    while (!text.empty()) {
        std::string_view line = take_until(text, '\n');
        std::size_t equals = line.find('=');
        if (line.starts_with(begin_of_time))
            config.as_of = time_of(trimmed(line.substr(begin_of_time.size())));
        else if (equals != line.npos)
            config.values.emplace(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    }
    return config;
}

std::vector<std::string> plugin_directories(const ControllerConfig &config) {
    std::vector<std::string> out;
    const std::string all = config["PluginDir"];
    for (std::string_view rest = all; !rest.empty();) {
        if (auto directory = take_until(rest, ':'); !directory.empty())
            out.emplace_back(directory);
    }
    return out;
}

Findings findings_of_settings(const ControllerConfig &config, const Settings &settings) {
    Findings all;
    std::string tracks = config["ProctrackType"], binds = config["TaskPlugin"], usual = config["MpiDefault"];
    if (tracks == "proctrack/pgid")
        all.push_back(doubtful("proctrack",
                               "ProctrackType=proctrack/pgid: a process that leaves its process group "
                               "outlives the job, and holds its ports and memory",
                               "ProctrackType=proctrack/cgroup in slurm.conf, then restart the slurmds"));
    else
        all.push_back(fine("proctrack", tracks.empty() ? "not told" : tracks));
    bool binds_none = binds.empty() || binds == "task/none"; // which a site may want
    all.push_back(
        fine("task plugins", binds_none ? "none: tasks are not bound to CPUs (TaskPlugin in slurm.conf)" : binds));
    all.push_back(fine("default", usual == "pmixhost" ? "MpiDefault=pmixhost: srun uses it"
                                                      : "srun --mpi=pmixhost (MpiDefault is " +
                                                            (usual.empty() ? std::string("none") : usual) + ")"));
    std::string ports = config["SrunPortRange"];
    bool of_srun = !ports.empty() && ports != "0-0";
    if (of_srun && settings.transport_ports.first == 0)
        all.push_back(doubtful("firewall",
                               fmt::format("SrunPortRange={}, as where a firewall stands between hosts; but pmixhost's "
                                           "daemons take any port",
                                           ports),
                               "name ports that the firewall lets in: transport.ports in pmixhost.conf"));
    std::string socket = config["AuthInfo"];
    if (socket.find("socket=") != socket.npos)
        all.push_back(doubtful("munge socket",
                               fmt::format("AuthInfo={}: pmixhost asks munge at its usual place", socket),
                               "run munged at its usual place as well, if steps that PMIx_Spawn has not started are to "
                               "meet each other; nothing otherwise"));
    return all;
}

Finding finding_of_clock(std::time_t controller, std::time_t here) {
    if (controller == 0)
        return doubtful("clock", "the controller does not tell its time", "compare by hand: date -u, here and there");
    std::time_t apart = controller > here ? controller - here : here - controller;
    if (apart <= clock_warning)
        return fine("clock", "as the controller's");
    std::string text =
        fmt::format("this host's clock is {} s {} the controller's", apart, here > controller ? "ahead of" : "behind");
    std::string cure =
        "let both hosts take their time from one source (chronyc tracking, timedatectl), then start again "
        "what uses munge";
    return apart >= clock_problem ? wrong("clock", text + ": munge refuses what the other made", cure)
                                  : doubtful("clock", text, cure);
}

} // namespace pmixhost::slurm
