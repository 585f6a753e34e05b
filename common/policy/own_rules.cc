// See own_rules.h.
#include "common/policy/own_rules.h"

#include "common/policy/accounts.h"

#include <unistd.h>

namespace pmixhost::policy {

// Also what this process has beside what the system's database gives: it may have been put down elsewhere.
static Person own_person(const Result<Account> &account) {
    Person person = account ? account->person : Person{::geteuid(), {}};
    int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (!groups.empty() && ::getgroups(count, groups.data()) == count)
        person.gids.insert(person.gids.end(), groups.begin(), groups.end());
    person.gids.push_back(::getegid());
    return person;
}

bool needs_account(const SitePolicy &site, const Error &why) {
    bool unknown = why.kind == ErrorKind::not_found;
    return !site.rules.empty() || (site.policy.user_rules() != UserRules::off && !unknown);
}

OwnRules read_own_rules(const Settings &settings) {
    OwnRules out;
    SystemNames names;
    Loaded config;
    config.settings = settings;
    SitePolicy site = load_site_policy(config, names);
    auto note = [&out](const Error &why) {
        out.wrong.push_back(why.text);
        out.look_up_failed = out.look_up_failed || why.kind == ErrorKind::system;
    };
    for (const auto &each : site.errors)
        note(each);
    auto account = find_account(::geteuid());
    if (!account && needs_account(site, account.failure())) {
        note(account.failure());
        out.look_up_failed = true;
        site.policy = Policy::closed({account.failure().text, "tools.policy"});
    }
    if (account && site.policy.user_rules() != UserRules::off) {
        std::string path = user_policy_path(account->home);
        for (const auto &each : add_user_policy(site.policy, account->person.uid,
                                                read_user_policy(path, account->person.uid), path, names))
            note(each);
    }
    out.user = own_person(account);
    out.policy = std::move(site.policy);
    return out;
}

} // namespace pmixhost::policy
