// See user.h.
#include "plugins/kit/user.h"

#include <cerrno>

#include <grp.h>
#include <pwd.h>

namespace pmixhost::kit {

Result<User> look_up_user(uid_t uid) {
    std::vector<char> buffer(64 << 10);
    passwd entry{}, *found = nullptr;
    int code = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
    if (code != 0)
        return system_error(fmt::format("looking up user {}", uid), code);
    if (!found)
        return error(ErrorKind::not_found, "user {} is not known on this host", uid);
    User user{uid, entry.pw_gid, {}, entry.pw_name, entry.pw_dir};
    int count = 64;
    user.groups.resize(static_cast<std::size_t>(count));
    while (getgrouplist(entry.pw_name, entry.pw_gid, user.groups.data(), &count) < 0) {
        if (count <= static_cast<int>(user.groups.size()) || count > 65'536)
            return error(ErrorKind::limit, "user {} is in too many groups", entry.pw_name);
        user.groups.resize(static_cast<std::size_t>(count));
    }
    user.groups.resize(static_cast<std::size_t>(count));
    return user;
}

} // namespace pmixhost::kit
