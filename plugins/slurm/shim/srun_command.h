// Which programs srun was asked to start. Slurm's plugin interface does not say, but prelaunch runs in srun. So its
// command line can be read, and the table of options that srun itself used, those of SPANK plugins included, tells
// where the options end. What cannot be told is left out: a step whose programs are not known runs all the same.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <getopt.h>

namespace pmixhost::slurm {

// A part between the colons of `srun OPTIONS PROGRAM : OPTIONS PROGRAM`.
struct CommandPart {
    std::vector<std::string> argv; // the program and its arguments; may be empty
    std::string het_groups;        // of --het-group
};
// Reads a command line as getopt_long does. `options` ends with a null name; `short_options` is
// getopt's string. Empty when an option is not known.
std::vector<CommandPart> split_command_line(std::span<const std::string> line, const option *options,
                                            std::string_view short_options);

// What srun knows of a step's programs.
struct SrunPrograms {
    std::vector<CommandPart> parts;   // empty: not known
    std::vector<std::uint32_t> tasks; // of each component of a het step; empty: an ordinary step
    bool multi_prog = false;
    std::string multi_prog_text; // the file's
};
// Does this code run in srun?
bool in_srun();

// The programs of the srun that this code runs in; empty in any other program.
SrunPrograms programs_of_srun();

// A launcher without a program (`pmixhost launcher`) runs `holder` alone, its words with spaces.
// Fails (invalid) where the user's words have another program; not where srun's programs are not known.
Result<void> check_holder(const SrunPrograms &programs, std::string_view holder);

// For processes that are spawned, whose srun asks the slurmctld of this cluster (`own`). `working`: as srun -M sets
// SLURM_WORKING_CLUSTER, NAME:ADDRESS:... Fails (unsupported) where that is another one.
Result<void> check_cluster(std::string_view working, std::string_view own);

// The value of an option (its long name) that was given to the srun that this code runs in, by its
// command line or its environment; empty when it was not.
std::string option_of_srun(const char *name);

// The apps of a step of `tasks` tasks, of which a component begins with rank `first_rank`. Empty
// when the programs are not known, or what is known does not fit the step.
std::vector<App> apps_of_step(const SrunPrograms &programs, Rank tasks, Rank first_rank);

} // namespace pmixhost::slurm
