// The user whose job it is, as a root process needs to know him in order to become him.
#pragma once

#include "common/base/result.h"

#include <string>
#include <vector>

#include <sys/types.h>

namespace pmixhost::kit {

struct User {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;
    std::string name;
    std::string home;
};
// Looks the user up in the host's user database, and may wait for that. Fails (not_found, limit).
Result<User> look_up_user(uid_t uid);

} // namespace pmixhost::kit
