// The command line of `pmixhost run` as values.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "common/job/process_set.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pmixhost {

struct RunOptions {
    std::vector<std::string> hosts;
    std::vector<App> apps; // ranks are consecutive over the programs
    std::vector<std::vector<Rank>> ranks_by_host;
    std::vector<ProcessSet> process_sets; // that the user has named
    std::string map_by = "slot";
    bool label = false;
    bool unbuffered = false;
    std::optional<Rank> input = 0; // the task that gets our standard input
    bool kill_on_bad_exit = false;
    bool live_on = false;                        // --kill-on-bad-exit=0 was said
    std::chrono::milliseconds wait{0};           // after the first task's end; 0: no limit
    std::chrono::milliseconds kill_wait{30'000}; // between a signal that ends and SIGKILL
    std::chrono::milliseconds time_limit{0};     // 0: none
    std::string tmpdir; // where the daemons' private directories are made; empty: as configured
    bool tmpdir_for_tasks = false;
    std::string directory, config;
    std::vector<std::string> faults;
    std::vector<std::string> notes; // for the user's standard error
};

// What the words after `pmixhost run` ask for. `help` is set (and nothing else) for --help.
struct RunCommand {
    std::string help;
    RunOptions options;
};
// `process_sets`: the text of the environment variable (common/job/process_set.h).
Result<RunCommand> parse_run(const std::vector<std::string> &words, std::string_view process_sets = {});

// The parser of the words before the program, to look at.
void look_at_run_options(const std::function<void(const CLI::App &)> &look);

// Splits "-n 2 a : -n 3 b" at its separators. As with mpirun, a program cannot have an argument that is just ":".
std::vector<std::vector<std::string>> split_programs(const std::vector<std::string> &words);

} // namespace pmixhost
