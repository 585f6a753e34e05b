// See accounts.h.
#include "common/policy/accounts.h"

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/config/config_values.h"
#include "common/peer/peer_address.h"
#include "common/policy/policy_load.h"
#include "common/text/printable.h"

#include <cerrno>
#include <cstring>
#include <grp.h>
#include <ifaddrs.h>
#include <memory>
#include <pwd.h>
#include <sys/stat.h>

namespace pmixhost::policy {

// An entry of a database that is asked with a buffer of the caller's, which is found by trying.
template <typename Entry, typename Ask, typename Use>
static auto ask_database(const std::string &what, Ask ask, Use use) -> decltype(use(std::declval<Entry &>())) {
    static constexpr std::size_t largest = 16 << 20;
    for (std::vector<char> buffer(64 << 10);; buffer.resize(buffer.size() * 4)) {
        Entry entry{}, *found = nullptr;
        int code = ask(&entry, buffer.data(), buffer.size(), &found);
        if (found)
            return use(entry);
        // The first is what there is no such entry for; some services say it so, instead of nothing at all.
        if (code == 0 || code == ENOENT || code == ESRCH)
            return error(ErrorKind::not_found, "{} is not known on this host", what);
        if (code != ERANGE || buffer.size() >= largest) {
            Error failure = system_error(what, code);
            failure.kind = ErrorKind::system;
            return failure;
        }
    }
}

template <typename Find>
static Result<std::uint32_t> find_once(std::mutex &mutex, std::map<std::string, Result<std::uint32_t>> &known,
                                       const std::string &name, Find find) {
    {
        std::lock_guard lock(mutex);
        if (auto found = known.find(name); found != known.end())
            return found->second;
    }
    Result<std::uint32_t> id = find();
    std::lock_guard lock(mutex);
    known.emplace(name, id);
    return id;
}

Result<std::uint32_t> SystemNames::user(const std::string &name) const {
    return find_once(mutex_, users_, name, [&] {
        return ask_database<passwd>(
            "user " + printable(name), [&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); },
            [](const passwd &entry) -> Result<std::uint32_t> { return entry.pw_uid; });
    });
}

Result<std::uint32_t> SystemNames::group(const std::string &name) const {
    return find_once(mutex_, groups_, name, [&] {
        return ask_database<::group>(
            "group " + printable(name), [&](auto... rest) { return ::getgrnam_r(name.c_str(), rest...); },
            [](const ::group &entry) -> Result<std::uint32_t> { return entry.gr_gid; });
    });
}

static Result<Account> account_of(const passwd &entry) {
    Account account{entry.pw_name, entry.pw_dir, {entry.pw_uid, {}}};
    int count = 64;
    auto &groups = account.person.gids;
    groups.resize(static_cast<std::size_t>(count));
    while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
        if (count <= static_cast<int>(groups.size()) || count > 65'536)
            return error(ErrorKind::limit, "user {} is in too many groups", account.name);
        groups.resize(static_cast<std::size_t>(count));
    }
    groups.resize(static_cast<std::size_t>(count));
    return account;
}

Result<Account> find_account(uid_t uid) {
    return ask_database<passwd>(
        fmt::format("user {}", uid), [&](auto... rest) { return ::getpwuid_r(uid, rest...); }, account_of);
}

Result<Account> find_account(const std::string &name) {
    auto number = parse_number(name, no_id - 1);
    if (number)
        return find_account(static_cast<uid_t>(*number));
    return ask_database<passwd>(
        "user " + printable(name), [&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); }, account_of);
}

std::string user_policy_path(const std::string &home) {
    return home + "/.config/pmixhost/tools.policy";
}

Result<std::string> read_user_policy(const std::string &path, uid_t user) {
    struct stat status {};
    auto fd = open_regular_file(path, status);
    if (!fd && errno == ENOTDIR) // something else stands where the directory would be
        return error(ErrorKind::not_found, "{}: is not there", path);
    if (!fd)
        return fd.failure();
    if (status.st_uid != user && status.st_uid != 0)
        return error(ErrorKind::invalid, "{}: belongs to uid {}, not to uid {} or root", path, status.st_uid, user);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return error(ErrorKind::invalid, "{}: others may write this file; run chmod go-w {}", path, path);
    return read_all(fd->get(), path, max_user_file_bytes);
}

std::vector<Network> addresses_of_host() {
    ifaddrs *list = nullptr;
    if (::getifaddrs(&list) != 0)
        return {};
    std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, ::freeifaddrs);
    std::vector<Network> out;
    for (const ifaddrs *each = list; each; each = each->ifa_next) {
        if (!each->ifa_addr || (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6))
            continue;
        sockaddr_storage address{};
        std::memcpy(&address, each->ifa_addr,
                    each->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        auto network = parse_address(PeerAddress(address).numeric());
        if (network && !network->is_loopback())
            out.push_back(*network);
    }
    return out;
}

} // namespace pmixhost::policy
