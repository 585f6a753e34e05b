// See tool_rights.h.
#include "server-glue/tool_access/tool_rights.h"

#include "common/policy/accounts.h"
#include "common/policy/policy_load.h"

#include <unistd.h>

namespace pmixhost {

using namespace policy;

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

// Any thread: everything is its own.
Result<ToolRights::Read> ToolRights::read(const Settings &settings) {
    Read out;
    SystemNames names;
    Loaded config;
    config.settings = settings;
    SitePolicy site = load_site_policy(config, names);
    for (const auto &each : site.errors)
        out.wrong.push_back(each.text);
    auto account = find_account(::geteuid());
    bool no_account = !account && account.failure().kind == ErrorKind::not_found; // as in containers
    if (!account && (!site.rules.empty() || (site.policy.user_rules() != UserRules::off && !no_account))) {
        // Nobody knows which rules are meant, or what the user's own say.
        out.wrong.push_back(account.failure().text);
        site.policy = Policy::closed({account.failure().text, "tools.policy"});
    }
    if (account && site.policy.user_rules() != UserRules::off) {
        std::string path = user_policy_path(account->home);
        for (const auto &each : add_user_policy(site.policy, account->person.uid,
                                                read_user_policy(path, account->person.uid), path, names))
            out.wrong.push_back(each.text);
    }
    out.user = own_person(account);
    out.policy = std::move(site.policy);
    return out;
}

Request ToolRights::request_of(const Question &question) const {
    Location from = Location::here();
    if (!question.from.empty()) {
        auto address = parse_address(question.from);
        from = address ? Location::at(*address) : Location{};
    }
    return {rules_->user, question.pid, from, rules_->user, question.job, question.action};
}

std::optional<Decision> ToolRights::decide(const Question &question) {
    if (rules_)
        return rules_->policy.decide(request_of(question));
    if (std::exchange(reading_, true))
        return std::nullopt;
    worker_.emplace(loop_);
    worker_->run([settings = settings_] { return read(settings); },
                 [this](Result<Read> read) {
                     rules_.emplace(); // nothing is allowed
                     if (!read)
                         return log_.error("the rules for tools cannot be read: {}", read.failure().text);
                     for (const auto &each : read->wrong)
                         log_.error("tools: {}", each);
                     rules_ = std::move(*read);
                 });
    return std::nullopt;
}

bool ToolRights::may(const Question &question) {
    auto found = decide(question);
    if (!found)
        return false;
    if (auto missed = lines_.admit(loop_.now())) {
        std::string line = log_line(request_of(question), *found) + not_logged(*missed);
        if (found->allowed)
            log_.info("{}", line);
        else
            log_.warning("{}", line);
    }
    return found->allowed;
}

} // namespace pmixhost
