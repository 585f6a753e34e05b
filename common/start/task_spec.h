// What a process that PMIx_Spawn makes is to become. Neither srun nor multi-prog files can give each program of a
// step its own environment and directory, and neither tells whether the program or the directory was missing; so the
// RM starts pmixhost-task (server-glue/tasks/task_program.cc), which finds its program here, by rank, and executes it.
//
// The text is a start document (common/start/start_document.h), escaped as common/local/local_text.h tells. Each
// `app FIRST COUNT` is followed by the lines that belong to it:
//   program P    arg A (argv, from the name on)    cwd D    index_argv 1    merge 1    no_input 1
//   prefix W (word by word)
//   stop FIRST LAST (ranks that are stopped at their first instruction)
//   fork_agent P (is executed instead, and starts the program: common/start/agent_description.h)
//   output_file P    output_pattern P    output_directory P    output_only 1 (task_output.h)
//   set NAME=VALUE    add NAME=VALUE    unset NAME
//   prepend SEP NAME=VALUE    append SEP NAME=VALUE    first SEP NAME=VALUE
// It travels in the step's environment: PMIXHOST_TASK_SPEC_0, PMIXHOST_TASK_SPEC_1, ...
#pragma once

#include "common/base/result.h"
#include "common/start/task_output.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pmixhost {

struct EnvironmentChange {
    enum class Kind { set, add, unset, prepend, append, first };
    Kind kind = Kind::set;
    std::string name;
    std::string value;
    char separator = ':';
    bool operator==(const EnvironmentChange &) const = default;
};

struct TaskApp {
    std::uint32_t first = 0; // rank
    std::uint32_t count = 0;
    std::string program;
    std::vector<std::string> argv;
    std::string directory;                  // empty: the step's
    std::vector<EnvironmentChange> changes; // in this order
    std::vector<std::string> prefix;        // is executed instead, with the program and its arguments behind it
    bool index_argv = false;                // "-RANK" is added to the name
    bool merge = false;                     // standard error goes where standard output goes
    bool no_input = false;                  // its standard input is /dev/null, whatever the RM has given it
    TaskOutput output;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> stop_on_exec; // ranks, first to last
    std::string fork_agent;                                            // PMIX_FORKEXEC_AGENT; empty: there is none
    bool operator==(const TaskApp &) const = default;
};

inline constexpr std::string_view task_spec_prefix = "PMIXHOST_TASK_SPEC_";
inline constexpr std::size_t max_task_spec = 2u << 20;

// Fails (limit, invalid).
Result<std::string> encode_task_spec(const std::vector<TaskApp> &apps);
Result<std::vector<TaskApp>> decode_task_spec(std::string_view text);

// NAME=VALUE entries that hold the text, each short enough for an environment.
std::vector<std::string> task_spec_variables(std::string_view text);
// Puts them together again. Fails (not_found, invalid).
Result<std::string> collect_task_spec(char *const *environment);

// Changes `environment` (NAME=VALUE entries) in order.
void apply_changes(const std::vector<EnvironmentChange> &changes, std::vector<std::string> &environment);

// Tells a prefix the directory of the program, which may be one of a container only. Not set where none was asked for.
inline constexpr const char *spawn_directory_variable = "PMIXHOST_SPAWN_DIRECTORY";

// What pmixhost-task says on the descriptor PMIXHOST_TASK_FD, which closes when the program runs:
//   "+"                  it is about to execute the program
//   "="                  behind that, with the descriptor of common/process/exec_stop.h: it stops at the program's
//                        first instruction
//   "d"                  with a descriptor: that of common/start/agent_description.h, where the program is an agent
//                        that starts it
//   "c"                  with a descriptor, three times for each stream that is to be copied: those of OutputCopy
//                        (common/process/output_file.h), in their order
//   "-STAGE ERRNO TEXT"  it could not (STAGE is d (directory), o (file of its output), p (program)
//                        or s (itself)); it ends when
//                        the other side closes
// With this argument pmixhost-task does nothing but copy_output().
inline constexpr const char *copy_argument = "--copy-output";
inline constexpr std::string_view task_fd_variable = "PMIXHOST_TASK_FD";
// In the environment of a job whose tasks an OCI runtime starts (srun --container), which closes that descriptor: "+"
// is said before the runtime is executed, and what pmixhost-task cannot do then is a line on its standard error.
inline constexpr std::string_view task_container_variable = "PMIXHOST_TASK_CONTAINER";
struct TaskStartFailure {
    char stage = 's';
    int error_number = 0;
    std::string text;
};
struct TaskStartReport {
    bool running = false; // it has been executed
    bool stops = false;   // at its first instruction
    TaskStartFailure failure;
};
// `said`: all that came until the descriptor closed.
TaskStartReport parse_start_report(std::string_view said);

} // namespace pmixhost
