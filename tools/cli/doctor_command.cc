// `pmixhost doctor`: what is wrong with the set-up of this host, or of all hosts of a job, and how it is cured. The
// checks are in tools/doctor/host_checks.h and in programs of the plugins.
#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/cli/parse.h"
#include "tools/doctor/bounded_look.h"
#include "tools/doctor/host_checks.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/terminal.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace pmixhost {

namespace {

using Json = nlohmann::ordered_json;

struct Examined {
    std::string host;
    Findings findings;
};

std::string own_name() {
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    return host;
}

constexpr auto of_files = std::chrono::seconds(20), of_programs = std::chrono::seconds(90);

// `hung`: see bounded_look.h.
Examined examine(const std::string &file, bool &hung) {
    auto patient = std::make_shared<Patient>();
    patient->uid = ::geteuid();
    patient->config_file = file.empty() ? file : std::filesystem::absolute(file).string();
    patient->config = check_config(patient->config_file, config_environment(environ));
    Examined all{own_name(), {}};
    auto add = [&all](Findings more) {
        all.findings.insert(all.findings.end(), std::make_move_iterator(more.begin()),
                            std::make_move_iterator(more.end()));
    };
    ProgressLine progress("looking at " + all.host);
    auto look = [&](const char *what, std::chrono::seconds time, Findings (*find)(const Patient &)) {
        add(look_within(
            what, time, [find, owned = std::shared_ptr<const Patient>(patient)] { return find(*owned); }, hung));
    };
    add(config_findings(*patient));
    look("policy", of_files, policy_findings);
    look("directory", of_files, directory_findings);
    add(network_findings(*patient));
    look("daemon", of_programs, daemon_findings);
    look("gate", of_files, gate_findings);
    add(topology_findings());
    add(debugging_findings());
    add(plugin_findings(*patient));
    return all;
}

std::string plain_text(const Json &text) {
    return text.is_string() ? one_line(text.get<std::string>(), 2000) : std::string();
}

// Between hosts a finding is a line, and a short one: what starts a program on several hosts may break long lines and
// mix the pieces.
constexpr std::size_t most_of_text = 300;

Json json_of(const Finding &finding) {
    Json found;
    found["check"] = finding.check;
    found["level"] = std::string(name_of(finding.level));
    found["text"] = finding.text;
    found["cure"] = finding.cure.empty() ? Json() : Json(finding.cure);
    return found;
}

void show_lines(const Examined &host) {
    for (auto finding : host.findings) {
        finding.text.resize(std::min(finding.text.size(), most_of_text));
        finding.cure.resize(std::min(finding.cure.size(), most_of_text));
        Json line = json_of(finding);
        line["host"] = host.host;
        fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    Json last;
    last["over"] = host.host; // two hosts may have one name
    fmt::print("{}\n", last.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// How many hosts there are, as the plugin's program says in a line {"hosts": N} of its own, and how many of them have
// said all.
struct Answers {
    std::size_t wanted = 0, whole = 0;
};

// What show_lines() wrote on another host; lines of others are left out.
void add_line(std::string_view line, std::vector<Examined> &hosts, Answers &answers) {
    auto said = Json::parse(line, nullptr, false);
    if (!said.is_object())
        return;
    if (auto wanted = said.find("hosts"); wanted != said.end() && wanted->is_number_unsigned() && answers.wanted == 0)
        answers.wanted = *wanted;
    answers.whole += said.contains("over") ? 1 : 0;
    if (!said.contains("host") || !said.contains("check"))
        return;
    std::string host = plain_text(said["host"]), level = plain_text(said.value("level", Json()));
    Finding finding;
    for (auto which : {Finding::Level::ok, Finding::Level::warning, Finding::Level::problem}) {
        if (level == name_of(which))
            finding.level = which;
    }
    finding.check = plain_text(said["check"]);
    finding.text = plain_text(said.value("text", Json()));
    finding.cure = plain_text(said.value("cure", Json()));
    auto known = std::find_if(hosts.begin(), hosts.end(), [&host](const auto &one) { return one.host == host; });
    if (known == hosts.end())
        known = hosts.insert(hosts.end(), {host, {}});
    known->findings.push_back(std::move(finding));
}

constexpr int no_such_job = 3; // what a plugin's program says

// `file`: judged on all of them in place of the installed one; empty: that.
Result<std::vector<Examined>> examine_job(const std::string &job, const std::string &file,
                                          std::chrono::seconds patience) {
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    ProgressLine progress("looking at the hosts of the job");
    await_interrupt();
    for (const auto &program : check_programs()) {
        std::vector<std::string> words{program, "--run-on", job, self, "doctor", "--json-lines"};
        if (!file.empty())
            words.insert(words.end(), {"--file", std::filesystem::absolute(file).string()});
        CaptureBounds bounds;
        bounds.patience = patience;
        bounds.to_end = std::chrono::seconds(5);
        bounds.stop = was_interrupted; // srun would stay as a step of the job
        auto said = capture_what_comes(words, bounds);
        if (said && !said->cut && said->code == no_such_job)
            continue;
        std::vector<Examined> hosts;
        Answers answers;
        for (std::string_view rest = said ? std::string_view(said->out) : std::string_view(); !rest.empty();)
            add_line(take_until(rest, '\n'), hosts, answers);
        std::string trouble = !said ? said.failure().text : one_line(said->err, 300);
        if (said && said->cut)
            trouble = said->cut->text + (trouble.empty() ? "" : "; ") + trouble;
        if (hosts.empty())
            return error(ErrorKind::system, "no host of the job answers: {}; next: run pmixhost doctor there by hand",
                         trouble);
        std::sort(hosts.begin(), hosts.end(), [](const auto &a, const auto &b) { return a.host < b.host; });
        if (answers.whole < answers.wanted || (said && said->cut))
            hosts.push_back({"the others",
                             {{Finding::Level::problem, "hosts",
                               fmt::format("{} of {} hosts have not answered{}{}",
                                           answers.wanted - std::min(answers.whole, answers.wanted), answers.wanted,
                                           trouble.empty() ? "" : ": ", trouble),
                               "run pmixhost doctor there by hand"}}});
        return hosts;
    }
    if (job.empty())
        return error(ErrorKind::not_found, "this is not inside of an allocation; next: --job JOB");
    return error(ErrorKind::not_found, "there is no running job {}; next: see which of yours run", printable(job));
}

Json json_of(const std::vector<Examined> &hosts, bool quiet) {
    auto out = Json::array();
    for (const auto &one : hosts) {
        Json entry;
        entry["host"] = one.host;
        entry["findings"] = Json::array();
        for (const auto &finding : one.findings) {
            if (!quiet || finding.level != Finding::Level::ok)
                entry["findings"].push_back(json_of(finding));
        }
        out.push_back(std::move(entry));
    }
    return out;
}

void show_json(const std::vector<Examined> &hosts, bool quiet) {
    fmt::print("{}\n", json_of(hosts, quiet).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void show_text(const std::vector<Examined> &hosts, bool quiet) {
    std::size_t width = 0, counts[3] = {};
    for (const auto &host : hosts) {
        for (const auto &one : host.findings) {
            width = std::max(width, one.check.size());
            ++counts[static_cast<int>(one.level)];
        }
    }
    Colours colours(stdout);
    const std::string_view paints[] = {colours.green, colours.yellow, colours.red};
    for (const auto &host : hosts) {
        fmt::print("{}{}{}\n", colours.bold, host.host, colours.off);
        for (const auto &one : host.findings) {
            if (quiet && one.level == Finding::Level::ok)
                continue;
            fmt::print("  {}{:<7}{}  {:<{}}  {}\n", paints[static_cast<int>(one.level)], name_of(one.level),
                       colours.off, one.check, width, one.text);
            if (!one.cure.empty())
                fmt::print("  {:<7}  {:<{}}  cure: {}\n", "", "", width, one.cure);
        }
    }
    fmt::print("{} ok, {} warnings, {} problems\n", counts[0], counts[1], counts[2]);
}

} // namespace

int doctor_command(const Words &words) {
    CLI::App parser(
        "Looks for what is wrong with this host's set-up, or that of all hosts of a job, and says how it is "
        "cured.",
        "pmixhost doctor");
    std::string job, file;
    bool json = false, json_lines = false, library = false, quiet = false, everywhere = false;
    unsigned patience = 180;
    auto *of_job = parser.add_option("--job", job, "Look at all hosts of this running job")->type_name("JOB");
    parser.add_flag("--all-hosts", everywhere, "Inside of an allocation: look at all of its hosts")->excludes(of_job);
    parser.add_flag("-q,--quiet", quiet, "Show warnings and problems only");
    parser.add_flag("--json", json, "Write the findings as JSON");
    parser.add_option("--file", file, "Read this file instead of the installed pmixhost.conf")->type_name("FILE");
    parser.add_option("--timeout", patience, "Seconds to wait for the hosts of a job [180]")
        ->check(CLI::Range(1u, 3600u));
    // Between processes of this program.
    parser.add_flag("--json-lines", json_lines)->group("");
    parser.add_flag("--library", library)->group("");
    if (auto over = parse(parser, words))
        return *over;
    if (library) {
        fmt::print("{}\n", own_library());
        return exit_ok;
    }
    std::vector<Examined> hosts;
    bool hung = false;
    if (everywhere || parser.count("--job") > 0) {
        auto all = examine_job(job, file, std::chrono::seconds(patience));
        if (!all) {
            std::fprintf(stderr, "pmixhost: error: %s\n", all.failure().text.c_str());
            return exit_failure;
        }
        hosts = std::move(*all);
    } else {
        hosts.push_back(examine(file, hung));
    }
    if (json_lines)
        show_lines(hosts[0]);
    else if (json)
        show_json(hosts, quiet);
    else
        show_text(hosts, quiet);
    bool wrong = std::any_of(hosts.begin(), hosts.end(), [](const Examined &host) {
        return std::any_of(host.findings.begin(), host.findings.end(),
                           [](const Finding &one) { return one.level == Finding::Level::problem; });
    });
    int code = wrong ? exit_failure : exit_ok;
    if (hung) { // what it holds, the end of the process could wait for
        std::fflush(stdout);
        ::_exit(code);
    }
    return code;
}

} // namespace pmixhost
