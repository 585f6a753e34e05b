// See privileges.h.
#include "server-glue/gate/privileges.h"

#include <cerrno>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace pmixhost {

namespace {

constexpr std::uint32_t setuid_alone = (1u << CAP_SETUID) | (1u << CAP_SETGID);

// Permitted and effective; never inheritable.
Result<void> set_capabilities(std::uint32_t wanted) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{{wanted, wanted, 0}, {0, 0, 0}};
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
        return system_error("PR_CAP_AMBIENT_CLEAR_ALL", errno);
    if (::syscall(SYS_capset, &header, data) != 0)
        return system_error("capset", errno);
    return {};
}

struct Entry {
    passwd found{};
    std::vector<char> texts = std::vector<char>(16384);
};
Result<Entry> entry_of(const std::string &name, uid_t uid) {
    Entry entry;
    passwd *found = nullptr;
    int failed = 0;
    do {
        failed = name.empty() ? getpwuid_r(uid, &entry.found, entry.texts.data(), entry.texts.size(), &found)
                              : getpwnam_r(name.c_str(), &entry.found, entry.texts.data(), entry.texts.size(), &found);
        if (failed == ERANGE)
            entry.texts.resize(entry.texts.size() * 2);
    } while (failed == ERANGE && entry.texts.size() < (1u << 20));
    if (failed != 0)
        return system_error("the users' database", failed);
    if (!found)
        return error(ErrorKind::not_found, "there is no user {}", name.empty() ? std::to_string(uid) : name);
    return {std::move(entry)};
}

Result<void> take_identity(const passwd &entry) {
    if (::initgroups(entry.pw_name, entry.pw_gid) != 0)
        return system_error("initgroups", errno);
    if (::setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid) != 0)
        return system_error("setresgid", errno);
    if (::setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid) != 0)
        return system_error("setresuid", errno);
    return {};
}

} // namespace

Result<void> keep_setuid_alone(const std::string &user) {
    if (::geteuid() == 0) {
        auto as_root = error(ErrorKind::invalid, "the gate does not run as root; next: --user NAME, a user of its own");
        if (user.empty())
            return as_root;
        auto entry = entry_of(user, 0);
        if (!entry)
            return entry.failure();
        if (entry->found.pw_uid == 0) // by whatever name
            return as_root;
        for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each) {
            if (each != CAP_SETUID && each != CAP_SETGID && ::prctl(PR_CAPBSET_DROP, each, 0, 0, 0) != 0)
                return system_error("PR_CAPBSET_DROP", errno);
        }
        if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
            return system_error("PR_SET_KEEPCAPS", errno);
        if (auto taken = take_identity(entry->found); !taken)
            return taken;
    } else if (!user.empty()) {
        auto entry = entry_of(user, 0);
        if (!entry || entry->found.pw_uid != ::geteuid())
            return error(ErrorKind::denied, "it takes root to become {}", user);
    }
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return system_error("PR_SET_NO_NEW_PRIVS", errno);
    auto kept = set_capabilities(setuid_alone);
    if (!kept)
        return error(ErrorKind::denied, "it lacks CAP_SETUID and CAP_SETGID, to start desks as users: {}",
                     kept.failure().text);
    return kept;
}

Result<void> keep_nothing() {
    return set_capabilities(0);
}

Result<void> become_user(uid_t user) {
    auto entry = entry_of({}, user);
    if (!entry)
        return entry.failure();
    if (auto taken = take_identity(entry->found); !taken)
        return taken;
    // From one ordinary user to another the kernel leaves them.
    if (auto kept = keep_nothing(); !kept)
        return kept;
    if (::setresuid(static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)) == 0 || ::geteuid() != user)
        return error(ErrorKind::denied, "it could go back");
    ::setenv("HOME", entry->found.pw_dir, 1);
    ::setenv("USER", entry->found.pw_name, 1);
    ::setenv("LOGNAME", entry->found.pw_name, 1);
    return {};
}

} // namespace pmixhost
