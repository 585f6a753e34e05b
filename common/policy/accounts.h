// What the policy for tools needs of this host: who has which number, who is in which groups, the file of a user, and
// the host's addresses.
// The only part of common/policy that asks the system. Each call may block (a directory service, a network's file
// system): at the start of a program, or in a thread for such calls (common/loop/slow_calls.h).
#pragma once

#include "common/policy/policy.h"

#include <map>
#include <mutex>

namespace pmixhost::policy {

// Asks for each name once. Any thread.
class SystemNames : public Names {
  public:
    Result<std::uint32_t> user(const std::string &name) const override;
    Result<std::uint32_t> group(const std::string &name) const override;

  private:
    using Known = std::map<std::string, Result<std::uint32_t>>;
    mutable std::mutex mutex_;
    mutable Known users_, groups_;
};

struct Account {
    std::string name;
    std::string home;
    Person person; // with all groups that the system's database gives
};
// `name`: a user's name, or number. Fails (not_found, limit, system).
Result<Account> find_account(const std::string &name);
Result<Account> find_account(uid_t uid);

// "HOME/.config/pmixhost/tools.policy"
std::string user_policy_path(const std::string &home);
// Reads it. Fails with not_found where there is none; with denied where this process may not read it; with invalid
// where it is no regular file, neither the user's nor root's, or others may write it; with limit where it is longer
// than max_user_file_bytes. Texts begin with "PATH: ".
Result<std::string> read_user_policy(const std::string &path, uid_t user);

// Under which other hosts may see this one: without those of the loopback network.
std::vector<Network> addresses_of_host();

} // namespace pmixhost::policy
