// The environment arrays that Slurm hands to the hooks, and our variables in them.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::slurm {

inline constexpr std::string_view report_variable = "PMIXHOST_REPORT";
// "1": the step shall live on when it loses processes or hosts.
inline constexpr std::string_view live_on_variable = "PMIXHOST_LIVE_ON";
// "1": srun ends the step when a process ends badly.
inline constexpr std::string_view bad_exit_variable = "PMIXHOST_BAD_EXIT";

// Whether the step's programs use PMIx, as a word of common/process/program_look.h.
inline constexpr std::string_view pmix_use_variable = "PMIXHOST_PMIX_USE";

// "1": a tool waits for srun to tell where the job is (plugins/kit/launcher_file.h).
inline constexpr std::string_view launcher_file_awaited = "PMIXHOST_LAUNCHER_FILE";
// "1": a debugger that has started srun waits to hear that the first program runs, and that all do.
inline constexpr std::string_view launch_awaited = "PMIXHOST_TELLS_LAUNCH";
// Then, how processes end: a word of common/job/told_ends.h.
inline constexpr std::string_view ends_awaited = "PMIXHOST_TELLS_ENDS";

// What the user has set in srun's environment for his step (PMIXHOST_X) is told to its hosts as PMIXHOST_OF_SRUN_X: at
// the user's word srun keeps his variables from the step (--export; SLURM_EXPORT_ENV, as in each job of
// `sbatch --export=NONE`), and means those of the tasks. What the step's environment has all the same goes before this.
inline constexpr std::string_view of_srun_prefix = "PMIXHOST_OF_SRUN_";
// `name`: that of a variable of user_variables().
std::string of_srun_variable(std::string_view name);

// Empty when it is not there.
std::string_view find_variable(char *const *environment, std::string_view name);
// True also when the variable is empty.
bool has_variable(char *const *environment, std::string_view name);
// Puts the pieces of a task map together again. Fails (not_found, invalid).
Result<std::string> collect_task_map(char *const *environment);
// The user's own PMIXHOST_ variables as NAME=VALUE, bounded, without those of the shim; with those of srun's.
std::vector<std::string> user_variables(char *const *environment);
// One of these. Empty when it is not there.
std::string_view find_user_variable(char *const *environment, std::string_view name);
// Takes the step's secret out, before anything else runs with this environment. Empty: there was none.
std::string take_secret(char **environment);
// Takes the shim's own variables out, so that a program that runs srun again does not hand them on; and those that are
// for one srun: by which a tool asked for a file, or a debugger for stops.
void remove_own_variables(char **environment);
// What tells srun of the debugger that has started it.
void remove_debuggers_variables(char **environment);
// Fails (limit) where Slurm refuses.
Result<void> set_variable(char ***environment, const std::string &name, const std::string &value);

} // namespace pmixhost::slurm
