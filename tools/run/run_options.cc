// See run_options.h.
#include "tools/run/run_options.h"

#include "common/config/config_options.h"
#include "common/config/config_values.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"
#include "tools/run/layout.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <unordered_set>

namespace pmixhost {

namespace {

constexpr std::uint64_t max_hosts = 4096;
constexpr std::uint64_t max_tasks = 100'000;

// The options as they were written.
struct Raw {
    std::string hosts = "1", tasks, wait = "0", kill_wait = "30", time_limit = "0", input = "0";
    std::string kill_on_bad_exit; // empty: not said
};

bool valid_host(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
               c == '.';
    });
}

// A number of hosts, or their names.
Result<std::vector<std::string>> parse_hosts(const std::string &text) {
    std::vector<std::string> hosts;
    if (text.find_first_not_of("0123456789") == std::string::npos) {
        auto count = parse_number(text, max_hosts);
        for (std::uint64_t i = 0; count && i < *count; ++i)
            hosts.push_back(fmt::format("host{}", i));
    } else {
        std::unordered_set<std::string> known;
        for (std::string_view rest = text; !rest.empty();) {
            std::string name(take_until(rest, ','));
            if (!valid_host(name) || !known.insert(name).second)
                return error(ErrorKind::invalid, "--hosts: '{}' is no name of a host, or is there twice",
                             printable(name));
            hosts.push_back(std::move(name));
        }
    }
    if (hosts.empty() || hosts.size() > max_hosts)
        return error(ErrorKind::invalid, "--hosts '{}'; allowed: 1 to {}, or names: a,b,c", printable(text), max_hosts);
    return hosts;
}

Result<std::chrono::milliseconds> duration(std::string_view option, const std::string &text) {
    auto value = parse_duration(text);
    if (!value)
        return error(ErrorKind::invalid, "{} '{}'; allowed: a number of seconds, or text such as 500ms, 30s, 5min",
                     option, printable(text));
    return value;
}

Result<Rank> task_count(const std::string &text, std::size_t hosts) {
    if (text.empty())
        return static_cast<Rank>(hosts);
    auto count = parse_number(text, max_tasks);
    if (!count || *count == 0)
        return error(ErrorKind::invalid, "-n '{}'; allowed: a whole number from 1 to {}", printable(text), max_tasks);
    return static_cast<Rank>(*count);
}

void define(CLI::App &app, RunOptions &options, Raw &raw, std::string &process_set) {
    app.add_option("-N,--hosts", raw.hosts, "How many virtual hosts, or their names (a,b,c) [1]")->type_name("HOSTS");
    app.add_option("-n,--ntasks", raw.tasks, "How many tasks of the program [one per host]")->type_name("COUNT");
    app.add_option("-m,--map-by", options.map_by, "slot, node, plane=K, ppr:K:node or list=HOST,... [slot]")
        ->type_name("POLICY");
    app.add_option("--pset", process_set, "The name of a process set that the program's tasks are")->type_name("NAME");
    app.add_flag("-l,--label", options.label, "Begin each line of output with the task's rank");
    app.add_flag("-u,--unbuffered", options.unbuffered, "Do not wait for whole lines of output");
    app.add_option("-i,--input", raw.input, "The task that gets standard input, or none [0]")->type_name("RANK");
    app.add_flag(
        "-K{1},--kill-on-bad-exit{1}", raw.kill_on_bad_exit,
        "End the job when a task exits with a non-zero code (=0: do not, the default, nor when a daemon dies)");
    app.add_option("-W,--wait", raw.wait, "End the job this long after its first task has ended; 0: never [0]")
        ->type_name("TIME");
    app.add_option("--kill-wait", raw.kill_wait, "From a signal that is to end the job to SIGKILL [30s]")
        ->type_name("TIME");
    app.add_option("--timeout", raw.time_limit, "End the job after this time; 0: never [0]")->type_name("TIME");
    app.add_option("-D,--chdir", options.directory, "The tasks' working directory")->type_name("DIR");
    app.add_option("--tmpdir", options.tmpdir, "Scratch directory for daemons and tasks")->type_name("DIR");
    app.add_option("--config", options.config, "Use this file instead of pmixhost.conf")->type_name("FILE");
    app.add_option("--fault", options.faults, "For tests: let something fail; see pmixhost-run(1)")
        ->type_name("SPEC")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.prefix_command();
}

Error usage(const std::string &what) {
    return error(ErrorKind::invalid, "{} (see pmixhost run --help)", what);
}

// A failed parse as an Error. CLI11's texts may have line breaks.
Error usage(const CLI::ParseError &failure) {
    return usage(printable(failure.what(), 200));
}

// The words of one program in MPMD: -n COUNT --pset NAME PROGRAM ARGUMENT...
Result<App> further_program(const std::vector<std::string> &words, std::string &tasks, std::string &process_set) {
    CLI::App parser;
    parser.add_option("-n,--ntasks", tasks);
    parser.add_option("--pset", process_set);
    parser.prefix_command();
    try {
        parser.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError &failure) {
        return usage(failure);
    }
    App app;
    app.argv = parser.remaining();
    return app;
}

// `names` are by program; programs that name the same set are in it together.
Result<void> name_sets(RunOptions &options, const std::vector<std::string> &names, std::string_view from_environment,
                       Rank tasks) {
    auto defined = parse_process_sets(from_environment, tasks);
    if (!defined)
        return error(ErrorKind::invalid, "{}: {}", process_sets_variable, defined.failure().text);
    auto &sets = options.process_sets;
    for (std::size_t app = 0; app < names.size(); ++app) {
        const std::string &name = names[app];
        if (name.empty())
            continue;
        if (auto good = check_process_set_name(name); !good)
            return error(ErrorKind::invalid, "--pset: {}", good.failure().text);
        auto same = [&](const ProcessSet &set) { return set.name == name; };
        if (std::any_of(defined->begin(), defined->end(), same))
            return error(ErrorKind::invalid, "--pset: process set '{}' is in {} already", name, process_sets_variable);
        auto set = std::find_if(sets.begin(), sets.end(), same);
        if (set == sets.end())
            set = sets.insert(sets.end(), {name, {}});
        const auto &ranks = options.apps[app].ranks;
        set->ranks.insert(set->ranks.end(), ranks.begin(), ranks.end());
    }
    sets.insert(sets.begin(), defined->begin(), defined->end());
    return {};
}

Result<void> fill(RunOptions &options, const Raw &raw, const std::vector<std::string> &counts) {
    auto hosts = parse_hosts(raw.hosts);
    if (!hosts)
        return hosts.failure();
    options.hosts = std::move(*hosts);
    Rank next = 0;
    for (std::size_t i = 0; i < options.apps.size(); ++i) {
        App &app = options.apps[i];
        if (!app.argv.empty() && app.argv.front() == "--")
            app.argv.erase(app.argv.begin());
        if (app.argv.empty() || app.argv.front().empty())
            return usage("which program is to run?");
        if (app.argv.front().front() == '-')
            return usage(fmt::format("there is no option {}", printable(app.argv.front())));
        auto count = task_count(counts[i], options.hosts.size());
        if (!count)
            return count.failure();
        if (next + *count > max_tasks)
            return usage(fmt::format("more than {} tasks", max_tasks));
        for (Rank rank = 0; rank < *count; ++rank)
            app.ranks.push_back(next++);
    }
    if (next < options.hosts.size() && !options.map_by.starts_with("list=")) {
        options.notes.push_back(
            fmt::format("warning: {} tasks cannot be on {} hosts, so there are {}", next, options.hosts.size(), next));
        options.hosts.resize(next);
    }
    auto placement = place_tasks(options.map_by, next, static_cast<HostIndex>(options.hosts.size()));
    if (!placement)
        return placement.failure();
    options.ranks_by_host = std::move(*placement);

    if (raw.input == "none") {
        options.input.reset();
    } else {
        auto rank = parse_number(raw.input, next - 1);
        if (!rank)
            return error(ErrorKind::invalid, "--input '{}'; allowed: none, or a task from 0 to {}",
                         printable(raw.input), next - 1);
        options.input = static_cast<Rank>(*rank);
    }
    if (!raw.kill_on_bad_exit.empty() && raw.kill_on_bad_exit != "0" && raw.kill_on_bad_exit != "1")
        return error(ErrorKind::invalid, "--kill-on-bad-exit '{}'; allowed: 0, 1", printable(raw.kill_on_bad_exit));
    options.kill_on_bad_exit = raw.kill_on_bad_exit == "1";
    options.live_on = raw.kill_on_bad_exit == "0";
    struct {
        const char *name;
        const std::string &text;
        std::chrono::milliseconds &value;
    } times[] = {{"--wait", raw.wait, options.wait},
                 {"--kill-wait", raw.kill_wait, options.kill_wait},
                 {"--timeout", raw.time_limit, options.time_limit}};
    for (auto &time : times) {
        auto value = duration(time.name, time.text);
        if (!value)
            return value.failure();
        time.value = *value;
    }
    return {};
}

} // namespace

std::vector<std::vector<std::string>> split_programs(const std::vector<std::string> &words) {
    std::vector<std::vector<std::string>> programs(1);
    for (const auto &word : words) {
        if (word == ":")
            programs.emplace_back();
        else
            programs.back().push_back(word);
    }
    return programs;
}

void look_at_run_options(const std::function<void(const CLI::App &)> &look) {
    RunOptions options;
    Raw raw;
    std::string process_set;
    CLI::App parser;
    define(parser, options, raw, process_set);
    look(parser);
}

Result<RunCommand> parse_run(const std::vector<std::string> &words, std::string_view process_sets) {
    RunCommand command;
    RunOptions &options = command.options;
    Raw raw;
    CLI::App parser("Runs a program on virtual hosts of this machine, as srun does on a cluster.\n"
                    "Everything after PROGRAM is the program's. More programs follow after ':',\n"
                    "each with -n and --pset of its own: pmixhost run -n 2 ./a : -n 3 ./b",
                    "pmixhost run");
    std::string first_set;
    define(parser, options, raw, first_set);
    auto programs = split_programs(words);
    try {
        parser.parse(std::vector<std::string>(programs[0].rbegin(), programs[0].rend()));
    } catch (const CLI::CallForHelp &) {
        command.help = parser.help();
        command.help.replace(command.help.find(" [OPTIONS]"), 10,
                             " [OPTIONS] PROGRAM [ARGUMENTS] [: [-n COUNT] [--pset NAME] PROGRAM ...]");
        // What the flag becomes without a value is CLI11's business, not the user's.
        for (std::size_t at; (at = command.help.find("{1}")) != std::string::npos;)
            command.help.erase(at, 3);
        command.help += "\nExit code: the highest of the tasks'; 128 + N when a signal N ended one and\n"
                        "none exited with a code; 124 after --timeout; 1 when pmixhost itself failed.\n"
                        "See pmixhost-run(1).\n";
        return command;
    } catch (const CLI::ParseError &failure) {
        return usage(failure);
    }
    std::vector<std::string> counts{raw.tasks}, sets{first_set};
    App first;
    first.argv = parser.remaining();
    options.apps.push_back(std::move(first));
    for (std::size_t i = 1; i < programs.size(); ++i) {
        auto app = further_program(programs[i], counts.emplace_back(), sets.emplace_back());
        if (!app)
            return app.failure();
        options.apps.push_back(std::move(*app));
    }
    if (auto filled = fill(options, raw, counts); !filled)
        return filled.failure();
    if (auto named = name_sets(options, sets, process_sets, options.apps.back().ranks.back() + 1); !named)
        return named.failure();
    return command;
}

} // namespace pmixhost
