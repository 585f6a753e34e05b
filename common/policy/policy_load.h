// Makes the policy of the configuration and of a user's own file. Pure: the caller reads files
// (common/policy/accounts.h) and says how names become numbers.
//
// What is wrong closes: a rule of the site that cannot be read refuses every tool, one of a user's file every tool for
// that user's jobs. Half of a policy would be another one. Jobs run on in either case.
#pragma once

#include "common/config/config.h"
#include "common/policy/policy.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::policy {

inline constexpr std::size_t max_rules = 1000; // of the site, and of a user's file
inline constexpr std::size_t max_user_file_bytes = 64 << 10;

struct SitePolicy {
    Policy policy;             // closed where there are errors, or tools.enabled is off
    std::vector<Rule> rules;   // those that are right, in force or not
    std::vector<Error> errors; // each text begins with "FILE:LINE: "
};
SitePolicy load_site_policy(const Loaded &config, const Names &names);

// A user's file has a rule a line, empty lines, and lines that begin with # and mean nothing. `path` is for messages.
struct UserPolicy {
    std::vector<Rule> rules;
    std::vector<Error> errors; // each text begins with "PATH:LINE: "
};
UserPolicy parse_user_policy(std::string_view content, const std::string &path, const Names &names);

// Gives the policy what a user's file says, or closes it for this user. `content`: what read_user_policy() of
// common/policy/accounts.h gave; not_found is no file. Returns what is wrong.
std::vector<Error> add_user_policy(Policy &policy, uid_t user, const Result<std::string> &content,
                                   const std::string &path, const Names &names);

} // namespace pmixhost::policy
