// Process sets as users and plugins write them: a name for some of a job's ranks. One form of text
// serves the environment variable, the task map and the start document.
//
//   NAME=RANKS;NAME=RANKS      "ocean=0-3;atmo=4-7,9"
//
// RANKS is a list of ranks and ranges, or `*` for all of the job. A name has no space, comma,
// semicolon, equals sign or control character, so that it can stand in any list.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct ProcessSet {
    std::string name;
    std::vector<Rank> ranks; // ascending, at least one
    bool operator==(const ProcessSet &) const = default;
};

// Defines the sets of a step (srun) or job (pmixhost run).
inline constexpr const char *process_sets_variable = "PMIXHOST_PSETS";
inline constexpr std::size_t max_process_sets = 4096; // of a job
inline constexpr std::size_t max_process_set_name = 255;
inline constexpr std::size_t max_process_sets_text = 120'000; // what an environment variable holds

// Fails (invalid) with a text that says what is wrong with the name.
Result<void> check_process_set_name(std::string_view name);

// For a job of `tasks` ranks. Fails (invalid, limit) with a text that names the set.
Result<std::vector<ProcessSet>> parse_process_sets(std::string_view text, Rank tasks);
// The inverse; empty for none.
std::string format_process_sets(const std::vector<ProcessSet> &sets);

// Adds a set for each program of a job of several programs, behind those that the user has defined. Its name is the
// program's without the path; where several have that name, or it cannot be the name of a set, ".N" is added, N being
// the program's number (PMIX_APPNUM). A program whose ranks are a set already, or whose name is taken, gets none.
void add_program_sets(std::vector<ProcessSet> &sets, const std::vector<App> &apps);

} // namespace pmixhost
