// A command of pmixhost that a user asks for on a job of another user, and that the desk of the job's user runs, as
// that user (contrib/doc/decisions/gate.md). Here is which commands there are, which action of the rules for tools
// each of them takes, and which words it may have. None of them names a file, a host or another job, waits for a
// terminal, or takes something from others; what is not listed is refused by its name.
//
// Pure: the gate asks it, and the desk again, which does not believe the gate.
#pragma once

#include "common/base/result.h"
#include "common/policy/rule.h"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

struct AskedRun {
    static constexpr std::size_t most_words = 16, longest_word = 256, longest = 3072; // bytes; of a word, and of all
    std::string command;
    std::vector<std::string> words; // options, as "--name" or "--name=value"; then what stands behind JOB
};

// Fails (unsupported) where it is none of the commands.
Result<policy::Action> action_of(const AskedRun &run);
// Is each word one that this command may have? Fails (invalid, unsupported), and names the first that is not.
Result<void> check_run(const AskedRun &run);
// What stands behind the name of the program. The job cannot be taken for an option.
std::vector<std::string> command_line(const AskedRun &run, const std::string &job);

// The same as one line, for a log.
std::string text_of(const AskedRun &run, const std::string &job);

// Such a command has this in its environment: who has asked, for which action. It then asks no gate itself, takes a
// desk of its own to the job also where that runs on this host, and the job's daemon hears for whom it comes.
inline constexpr auto asked_by_variable = "PMIXHOST_ASKED_BY";
struct AskedBy {
    uid_t user = 0;
    policy::Action action = policy::Action::observe;
};
std::string asked_by_text(const AskedBy &by);
Result<AskedBy> parse_asked_by(std::string_view text); // fails (invalid)

} // namespace pmixhost
