// The rules for tools as they are for the user of this process, from the site's configuration and the user's own file:
// for the daemons of that user's jobs, and for commands that look at the processes of a job themselves.
#pragma once

#include "common/config/settings.h"
#include "common/policy/policy.h"
#include "common/policy/policy_load.h"

#include <string>
#include <vector>

namespace pmixhost::policy {

struct OwnRules {
    Policy policy; // closed where the rules, or what they say of this user, cannot be told
    Person user;
    std::vector<std::string> wrong; // what is wrong with the rules, for the log
    bool look_up_failed = false;    // something of that is no fault of the rules, and may be right later
};

// Of who `why` says that the account cannot be had: is the policy closed for that? Nobody knows then whom the site's
// rules mean, or what the user's own file says; a user who has no account (in a container) is let be where there are
// none.
bool needs_account(const SitePolicy &site, const Error &why);

// Any thread. Blocks: it reads files, and asks the system's database of users and groups.
OwnRules read_own_rules(const Settings &settings);

} // namespace pmixhost::policy
