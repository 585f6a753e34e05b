// pmixhostd, its libraries and the machine, and what plugins' programs find, as `pmixhost doctor` sees them. See
// host_checks.h.
#include "common/base/small_file.h"
#include "common/policy/accounts.h"
#include "common/process/captured_command.h"
#include "common/process/topology.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/doctor/host_checks.h"
#include "tools/run/daemon_process.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <pmix_tool.h>
#include <pmix_version.h>
#include <set>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr auto own_patience = std::chrono::seconds(15);
constexpr auto plugin_patience = std::chrono::seconds(90); // it asks the RM's daemons, which may be slow to fail

constexpr char again[] = "install pmixhost again on this host, the same version as on the others";

// "4.2.2" of "OpenPMIx 4.2.2, repo ..."
std::string version_in(std::string_view text) {
    std::size_t begin = text.find_first_of("0123456789");
    if (begin == text.npos)
        return {};
    text.remove_prefix(begin);
    return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

// What a program of this file says of its libpmix: with this environment, or an empty one as a daemon has.
std::string library_of(const std::optional<std::vector<std::string>> &environment) {
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    auto said = run_captured({self, "doctor", "--library"}, own_patience, environment);
    return said && said->code == 0 ? one_line(said->out, 300) : std::string();
}

// What a daemon of this user says of the library, and when it starts it; its settings are also in the user's home.
std::string said_of_library(const std::string &daemon, const Patient &patient) {
    auto account = policy::find_account(patient.uid);
    auto environment = config_environment(environ);
    environment.push_back("HOME=" + (account ? account->home : std::string("/nonexistent")));
    auto said = run_captured({daemon, "--library", patient.config_file}, own_patience, environment);
    return said && said->code == 0 ? said->out : std::string();
}

unsigned major_of(const std::string &version) {
    return static_cast<unsigned>(std::strtoul(version.c_str(), nullptr, 10));
}

bool older(const std::string &one, const std::string &other) {
    unsigned a[3]{}, b[3]{};
    std::sscanf(one.c_str(), "%u.%u.%u", &a[0], &a[1], &a[2]);
    std::sscanf(other.c_str(), "%u.%u.%u", &b[0], &b[1], &b[2]);
    return std::lexicographical_compare(a, a + 3, b, b + 3);
}

// "backend local  /usr/lib/...: questions, spawn", a line each (pmixhostd --backends)
Findings findings_of_backends(std::string_view text) {
    Findings all;
    while (!text.empty()) {
        std::string line = one_line(take_until(text, '\n'));
        if (line.find(" cannot be used: ") != line.npos)
            all.push_back(wrong("backend", line, again));
    }
    return all;
}

} // namespace

std::string own_library() {
    Dl_info where{};
    void *function = reinterpret_cast<void *>(&PMIx_Get_version);
    ::dladdr(function, &where);
    return version_in(PMIx_Get_version()) + "\t" + (where.dli_fname ? where.dli_fname : "");
}

Finding finding_of_libraries(const LibraryVersions &versions) {
    const auto &[built, daemon, user] = versions;
    constexpr char check[] = "libpmix";
    if (daemon.empty())
        return wrong(check, "the daemon's cannot be loaded", "install libpmix on this host: ldd " + pmixhostd_path());
    if (major_of(daemon) != major_of(built))
        return wrong(check, fmt::format("pmixhost was built with {}, and this host has {}", built, daemon),
                     "build pmixhost again with the libpmix that is here, or install its package for this release");
    if (older(daemon, built))
        return doubtful(check,
                        fmt::format("pmixhost was built with {}, and this host has {}, which is older", built, daemon),
                        "the same libpmix on all hosts");
    if (!user.empty() && major_of(user) != major_of(daemon))
        return doubtful(
            check, fmt::format("{} in daemons, but {} in your programs (LD_LIBRARY_PATH)", daemon, user),
            "programs with another libpmix work, except for groups: contrib/doc/versions.md; else take it out "
            "of LD_LIBRARY_PATH");
    return fine(check, user.empty() || user == daemon ? fmt::format("{} in daemons and programs", daemon)
                                                      : fmt::format("{} in daemons, {} in programs", daemon, user));
}

Finding finding_of_library_start(const std::string &said) {
    constexpr char check[] = "library";
    if (said == "late")
        return fine(check, "started where a program uses it");
    return doubtful(check,
                    said.empty() ? std::string("it cannot be told when libpmix is started")
                                 : "libpmix is started in each step, also where no program uses it: " + said,
                    "undo that setting, or build pmixhost on a host that has it; or, if it shall stay so, set "
                    "daemon.library = \"early\"");
}

Findings findings_of_library_faults(std::string_view said) {
    constexpr char check[] = "library faults";
    Findings all;
    while (!said.empty())
        all.push_back(doubtful(check, one_line(take_until(said, '\n'), 300),
                               "build pmixhost on a host that has this libpmix and its own headers, as Debian's "
                               "libpmix-dev has them (the last lines of configure: a failed fence)"));
    if (all.empty())
        all.push_back(fine(check, "those that pmixhost can mend are mended"));
    return all;
}

Findings daemon_findings(const Patient &patient) {
    std::string daemon = pmixhostd_path();
    Findings all;
    auto said = run_captured({daemon, "--backends"}, own_patience);
    if (!said) {
        all.push_back(wrong("daemon", said.failure().text, again));
    } else if (said->code != 0) {
        all.push_back(wrong("daemon", fmt::format("{}: {}", daemon, one_line(said->err, 300)),
                            "install the library that it lacks: ldd " + daemon));
    } else {
        auto backends = findings_of_backends(said->out);
        if (backends.empty())
            all.push_back(fine("daemon", daemon));
        all.insert(all.end(), backends.begin(), backends.end());
    }
    auto version = [](const std::string &text) { return text.substr(0, text.find_first_of("\t ")); };
    LibraryVersions versions;
    versions.built = fmt::format("{}.{}.{}", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE);
    versions.daemon = version(library_of(std::vector<std::string>{}));
    versions.user = version(library_of(std::nullopt));
    all.push_back(finding_of_libraries(versions));
    if (versions.daemon.empty())
        return all;
    std::string of_library = said_of_library(daemon, patient);
    std::string_view rest = of_library;
    std::string start = one_line(take_until(rest, '\n'), 300);
    if (patient.config.loaded.settings.daemon_library == "late")
        all.push_back(finding_of_library_start(start));
    if (!start.empty()) { // it could be asked
        auto faults = findings_of_library_faults(rest);
        all.insert(all.end(), faults.begin(), faults.end());
    }
    return all;
}

Findings topology_findings() {
    auto begin = std::chrono::steady_clock::now();
    auto shape = look_at_machine();
    auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
    if (!shape)
        return {wrong("topology", shape.failure().text, "see what hwloc finds: lstopo-no-graphics")};
    std::string text = fmt::format("{} packages, {} cores, {} CPUs, {} of them for this process; {} ms to find out",
                                   shape->packages, shape->cores, shape->cpus, shape->own_cpus, took);
    if (took > 3000)
        return {
            doubtful("topology", text, "steps start as slowly: hwloc's components, HWLOC_COMPONENTS in its manual")};
    return {fine("topology", text)};
}

Finding finding_of_debugging(unsigned scope, const std::string &debugger) {
    constexpr char check[] = "debugging";
    if (scope > 0)
        return doubtful(
            check,
            fmt::format("kernel.yama.ptrace_scope is {}: nobody can look at the own jobs here (pmixhost stacks, debug)",
                        scope),
            "sysctl kernel.yama.ptrace_scope=0, where users shall be able to");
    // A site may do without.
    if (debugger.empty())
        return fine(check, "no gdb in PATH: pmixhost debug cannot be used on this host");
    return fine(check, fmt::format("{}, and users may trace their own processes", debugger));
}

Findings debugging_findings() {
    auto text = read_small_file("/proc/sys/kernel/yama/ptrace_scope");
    return {finding_of_debugging(text ? static_cast<unsigned>(std::strtoul(text->c_str(), nullptr, 10)) : 0,
                                 path_of_program("gdb"))};
}

std::vector<std::string> check_programs() {
    namespace fs = std::filesystem;
    std::set<std::string> found;
    auto look_in = [&found](const fs::path &directory) {
        std::error_code failed;
        for (const auto &entry : fs::directory_iterator(directory, failed)) {
            std::string name = entry.path().filename();
            if (name.starts_with("pmixhost-check-") && name.find('.') == name.npos &&
                ::access(entry.path().c_str(), X_OK) == 0 && fs::is_regular_file(entry.path(), failed))
                found.insert(entry.path());
        }
    };
    fs::path daemon = fs::path(pmixhostd_path()).parent_path();
    look_in(daemon);
    // BUILD/server-glue/pmixhostd, BUILD/plugins/NAME/pmixhost-check-NAME
    if (daemon.filename() == "server-glue") {
        std::error_code failed;
        for (const auto &plugin : fs::directory_iterator(daemon.parent_path() / "plugins", failed))
            look_in(plugin.path());
    }
    return {found.begin(), found.end()};
}

Findings plugin_findings(const Patient &patient) {
    Findings all;
    for (const auto &program : check_programs()) {
        std::vector<std::string> words = {program};
        if (!patient.config_file.empty())
            words.insert(words.end(), {"--file", patient.config_file});
        auto said = run_captured(words, plugin_patience);
        std::string why = !said ? said.failure().text : said->code != 0 ? one_line(said->err, 300) : std::string();
        if (!said || said->code != 0)
            all.push_back(
                wrong("plugin", fmt::format("{}: {}", program, why), "run it by itself; " + std::string(again)));
        std::string_view rest = said ? std::string_view(said->out) : std::string_view();
        while (!rest.empty()) {
            if (auto finding = parse_finding(take_until(rest, '\n')))
                all.push_back(std::move(*finding));
        }
    }
    return all;
}

} // namespace pmixhost
