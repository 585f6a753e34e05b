// The subcommands of `pmixhost`. Each gets the words after its name, does its work and returns the
// exit code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

using Words = std::vector<std::string>;

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1; // it could not be done, or the file checked has errors
inline constexpr int exit_usage = 2;   // the command line is wrong
inline constexpr int exit_some = 3;    // a part of what was asked for is there

struct Command {
    std::string_view name;
    int (*run)(const Words &rest);
    std::string_view text;
};
// In the order in which they are shown.
std::span<const Command> commands();

int signal_command(const Words &words);
int kill_command(const Words &words);
int pause_command(const Words &words);
int resume_command(const Words &words);
int ps_command(const Words &words);
int run_command(const Words &words);
int debug_command(const Words &words);  // see exit_some
int doctor_command(const Words &words); // exit_failure: there is a problem
int config_command(const Words &words);
int completion_command(const Words &words);
int events_command(const Words &words);
int output_command(const Words &words);
int attach_command(const Words &words);
int get_command(const Words &words);
int lookup_command(const Words &words);
int publish_command(const Words &words);
int unpublish_command(const Words &words);
int spawn_command(const Words &words);
int launcher_command(const Words &words); // becomes the launcher
int servers_command(const Words &words);
int stacks_command(const Words &words); // see exit_some
int policy_command(const Words &words); // explain: exit_failure is "refused"
int version_command(const Words &words);
int with_command(const Words &words);

} // namespace pmixhost
