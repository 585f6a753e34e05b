// pmixhost-check-slurm: what `pmixhost doctor` knows of Slurm (contrib/doc/decisions/doctor.md). It runs Slurm's
// commands and is not linked with its library, so that it can tell when that is another one.
//
//   pmixhost-check-slurm [--file FILE]          writes findings, a line each (common/check/finding.h); FILE is judged
//                                               in place of the installed pmixhost.conf
//   pmixhost-check-slurm --run-on JOB WORD ...  becomes an srun that runs these words once on each host of the job;
//                                               JOB empty: the allocation that this runs in. Exit code 3: none. Its
//                                               first line says on how many hosts: {"hosts": N}
//   pmixhost-check-slurm --talk-to JOB WORD ... likewise, and what it is given as input goes to all of them:
//                                               `pmixhost stacks` and `pmixhost debug` come to the hosts by it
#include "common/base/small_file.h"
#include "common/config/config.h"
#include "common/process/captured_command.h"
#include "common/process/topology_file.h"
#include "common/text/printable.h"
#include "common/transport/credential.h"
#include "plugins/slurm/check/controller_config.h"
#include "plugins/slurm/check/plugin_file.h"
#include "plugins/slurm/check/topology_check.h"
#include "plugins/slurm/steps/own_srun.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace pmixhost::slurm {

namespace {

constexpr auto patience = std::chrono::seconds(25);
// A credential of the host that started a look at several: munge says there whether the clocks differ.
constexpr char credential_variable[] = "PMIXHOST_CHECK_CREDENTIAL";
constexpr int no_such_job = 3;

void tell(const Finding &finding) {
    std::fputs(finding_line(finding).c_str(), stdout);
}
void tell(const Findings &findings) {
    for (const auto &one : findings)
        tell(one);
}

// So that Slurm's commands write times as controller_config.h reads them.
std::vector<std::string> in_utc() {
    std::vector<std::string> environment;
    for (char **variable = environ; *variable; ++variable) {
        std::string_view one = *variable;
        if (!one.starts_with("TZ=") && !one.starts_with("SLURM_TIME_FORMAT="))
            environment.emplace_back(one);
    }
    environment.emplace_back("TZ=UTC");
    return environment;
}

std::string first_line(const std::string &text) {
    return printable(std::string_view(text).substr(0, text.find('\n')), 300);
}

// The version of this host's Slurm: what srun and slurmstepd load plugins as. not_found: there is none. Each command of
// Slurm reads slurm.conf first, and so fails without.
Result<std::string> version_here() {
    auto said = run_captured({"scontrol", "--version"}, patience);
    if (!said)
        return said.failure();
    if (said->code != 0)
        return error(ErrorKind::system, "scontrol --version ended with exit code {}: {}", said->code,
                     first_line(said->err));
    return plain_version(said->out);
}

Findings plugin_findings(const std::vector<std::string> &directories, const std::string &version) {
    constexpr char file[] = "/mpi_pmixhost.so";
    constexpr char check[] = "plugin";
    std::string where;
    for (const auto &directory : directories) {
        where += (where.empty() ? "" : ":") + directory;
        std::string path = directory + file;
        if (::access(path.c_str(), F_OK) != 0)
            continue;
        auto number = version_of_plugin(path);
        if (!number)
            return {wrong(check, number.failure().text, "install pmixhost again on this host")};
        if (!version.empty() && plain_version(*number) != version)
            return {wrong(
                check,
                fmt::format("{} was built for Slurm {}, and this host has {}: Slurm refuses it", path,
                            plain_version(*number), version),
                fmt::format("install the pmixhost that was built for Slurm {}, or build it again with its headers",
                            version))};
        auto listed = run_captured({"srun", "--mpi=list"}, patience);
        if (listed && (listed->out + listed->err).find("pmixhost") == std::string::npos)
            return {wrong(check, fmt::format("srun --mpi=list does not name pmixhost, though {} is there", path),
                          fmt::format("see what it lacks: ldd {}", path))};
        return {fine(check, fmt::format("{}, for Slurm {}", path, plain_version(*number)))};
    }
    std::string built = PMIXHOST_SLURM_PLUGINDIR;
    bool aside = ::access((built + file).c_str(), F_OK) == 0;
    return {
        wrong(check, fmt::format("mpi_pmixhost.so is in no directory of Slurm's PluginDir ({})", where),
              aside ? fmt::format("PluginDir={}:{} in slurm.conf, then restart slurmctld and the slurmds", built, where)
                    : std::string("install pmixhost's Slurm plugin on this host (README), then restart slurmd"))};
}

// `needed`: Slurm itself uses munge.
Findings munge_findings(bool needed) {
    auto bad = [needed](const std::string &text, const std::string &cure) {
        return needed ? wrong("munge", text, cure)
                      : doubtful("munge", text + "; steps that PMIx_Spawn has not started from one another cannot meet",
                                 cure + ", if they are to");
    };
    auto made = make_credential();
    if (!made)
        return {bad(made.failure().text, "start munged on this host: systemctl start munge, and see its log")};
    if (auto checked = check_credential(*made); !checked)
        return {bad(checked.failure().text, "see munged's log on this host")};
    const char *other = std::getenv(credential_variable);
    if (!other)
        return {fine("munge", "makes and checks credentials")};
    // Its own host has not checked it before; another host cannot have.
    if (auto checked = check_credential(other); !checked)
        return {bad("of another host: " + checked.failure().text,
                    "the same munge.key on all hosts, and clocks that agree (chronyc tracking, timedatectl)")};
    return {fine("munge", "makes and checks credentials, another host's too")};
}

Finding srun_finding(const Settings &settings) {
    std::string named = settings.of_plugin("slurm.srun");
    std::vector<std::string> places = {"/usr/local/bin/srun", "/usr/bin/srun", "/bin/srun"};
    if (!named.empty())
        places = {named};
    for (const auto &place : places) {
        if (::access(place.c_str(), X_OK) == 0)
            return fine("srun", place);
    }
    return named.empty() ? doubtful("srun",
                                    "there is none in /usr/local/bin, /usr/bin or /bin: no PMIx_Spawn, and steps "
                                    "do not meet",
                                    "slurm.srun in pmixhost.conf: where it is")
                         : wrong("srun", fmt::format("slurm.srun is {}, which cannot be executed", named),
                                 "name the right one in slurm.srun of pmixhost.conf, or take the line out");
}

// What is Slurm's name of a host outside of its jobs, this host does not know; mostly it is the host's own.
Finding topology_finding(const ControllerConfig &config, const Settings &settings) {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    const std::string host(name, std::strcspn(name, "."));
    const char *node = std::getenv("SLURMD_NODENAME");
    std::error_code failed;
    auto own = std::filesystem::read_symlink("/proc/self/exe", failed);
    return finding_of_topology_file(topology_path(config, node ? node : host, host), machine_state(),
                                    own.parent_path() / "pmixhost-topology", settings);
}

// `file`: of the configuration; empty: the installed one.
int check(const std::string &file) {
    auto found = version_here();
    if (!found && found.failure().kind == ErrorKind::not_found) {
        tell(fine("slurm", "not on this host: there is no scontrol in PATH"));
        return 0;
    }
    if (!found)
        tell(wrong("slurm", found.failure().text,
                   "slurm.conf of this host, or what it is fetched from; ldd $(command -v scontrol)"));
    std::time_t before = std::time(nullptr);
    auto said = run_captured({"scontrol", "show", "config"}, patience, in_utc());
    std::time_t after = std::time(nullptr);
    auto settings = check_config(file, {}).loaded.settings;
    bool answered = said && said->code == 0;
    ControllerConfig config = answered ? parse_controller_config(said->out) : ControllerConfig();
    if (answered && found)
        tell(fine("slurm", fmt::format("{}; the controller has {}", *found, config["SLURM_VERSION"])));
    else if (found)
        tell(wrong("slurm", "the controller does not answer: " + (said ? first_line(said->err) : said.failure().text),
                   "scontrol ping; then munge on this host, slurm.conf, and slurmctld"));
    auto directories = plugin_directories(config);
    if (found) // else srun fails as well, whatever it loads
        tell(plugin_findings(directories.empty() ? std::vector<std::string>{PMIXHOST_SLURM_PLUGINDIR} : directories,
                             *found));
    tell(munge_findings(config["AuthType"] != "auth/slurm"));
    tell(srun_finding(settings));
    if (!answered)
        return 0;
    // It answered at some time between.
    tell(finding_of_clock(config.as_of, std::clamp(config.as_of, before, after)));
    tell(findings_of_settings(config, settings));
    tell(topology_finding(config, settings));
    return 0;
}

// Nothing, and no end: which srun would tell all hosts, and lose what those say whose looks have ended by then
// (contrib/doc/semantics.md). What it waits for is srun's own.
bool give_silence() {
    int ends[2];
    return ::pipe(ends) == 0 && ::dup2(ends[0], STDIN_FILENO) == STDIN_FILENO && ::close(ends[0]) == 0;
}

// `looks`: says how many hosts there are, and gives the words no input; else they get this process'.
int run_on(const std::string &job, std::vector<std::string> command, bool looks) {
    const char *own = std::getenv("SLURM_JOB_ID");
    std::string id = !job.empty() ? job.substr(0, job.find('.')) : own ? own : "";
    if (id.starts_with("slurm"))
        id = job.substr(6, job.find('.', 6) - 6); // a namespace
    if (id.empty() || id.find_first_not_of("0123456789_+") != std::string::npos)
        return no_such_job;
    auto hosts = run_captured({"squeue", "-h", "-j", id, "-t", "running", "-o", "%D"}, patience);
    bool no_slurm = !hosts && hosts.failure().kind == ErrorKind::not_found;
    bool unknown =
        hosts && (hosts->code != 0 ? hosts->err.find("Invalid job id") != std::string::npos : hosts->out.empty());
    if (no_slurm || unknown)
        return no_such_job;
    if (!hosts || hosts->code != 0) { // that nobody knows of it has not been said
        std::fprintf(stderr, "pmixhost-check-slurm: squeue does not answer: %s\n",
                     hosts ? first_line(hosts->err).c_str() : hosts.failure().text.c_str());
        return 1;
    }
    if (auto credential = make_credential())
        ::setenv(credential_variable, credential->c_str(), 1);
    std::string count = hosts->out.substr(0, hosts->out.find('\n'));
    if (looks) {
        std::printf("{\"hosts\": %s}\n", count.c_str());
        std::fflush(stdout);
    }
    std::vector<std::string> words = {
        "srun", "--jobid=" + id, "--overlap", "--mpi=none", "--quiet", "--cpu-bind=none", "--nodes=" + count,
        "--ntasks=" + count, "--ntasks-per-node=1",
        // Hosts end their looks at different times; KillOnBadExit and WaitTime of slurm.conf are for jobs.
        "--kill-on-bad-exit=0", "--wait=0"};
    words.insert(words.end(), command.begin(), command.end());
    // What a user has set for the srun of a job would change what comes from the hosts, or end the others' looks.
    std::vector<std::string> unwanted;
    for (char **variable = environ; *variable; ++variable) {
        if (changes_own_srun(*variable))
            unwanted.emplace_back(*variable, std::strcspn(*variable, "="));
    }
    for (const auto &name : unwanted)
        ::unsetenv(name.c_str());
    std::vector<char *> argv;
    for (auto &word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    if (looks && !give_silence()) {
        std::fprintf(stderr, "pmixhost-check-slurm: no pipe can be made: %s\n", std::strerror(errno));
        return 1;
    }
    ::execvp(argv[0], argv.data());
    std::fprintf(stderr, "pmixhost-check-slurm: cannot run srun: %s\n", std::strerror(errno));
    return 1;
}

} // namespace

} // namespace pmixhost::slurm

int main(int argc, char **argv) {
    using namespace pmixhost::slurm;
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (words.empty())
        return check({});
    if (words.size() == 2 && words[0] == "--file")
        return check(words[1]);
    if (words.size() >= 3 && words[0] == "--run-on")
        return run_on(words[1], {words.begin() + 2, words.end()}, true);
    if (words.size() >= 3 && words[0] == "--talk-to")
        return run_on(words[1], {words.begin() + 2, words.end()}, false);
    std::fputs("pmixhost-check-slurm: this is a part of `pmixhost doctor`\n", stderr);
    return 2;
}
