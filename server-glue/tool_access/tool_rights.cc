// See tool_rights.h.
#include "server-glue/tool_access/tool_rights.h"

#include "common/policy/accounts.h"

#include <utility>

namespace pmixhost {

using namespace policy;

// Groups change.
static constexpr Duration account_lasts = std::chrono::hours(1);
static constexpr Duration failure_lasts = std::chrono::seconds(30);
static constexpr std::size_t most_askers = 256;

// `address`: empty for this host.
Request ToolRights::request_of(const Question &question, const std::string &address) const {
    Location from = Location::here();
    if (!address.empty()) {
        auto parsed = parse_address(address);
        from = parsed ? Location::at(*parsed) : Location{};
    }
    Person asker = rules_->user;
    if (question.origin.asker) {
        auto known = askers_.find(*question.origin.asker);
        bool has_groups = known != askers_.end() && known->second.person && *known->second.person;
        asker = has_groups ? **known->second.person : Person{*question.origin.asker, {}};
    }
    return {asker, question.pid, from, rules_->user, question.job, question.action};
}

ToolRights::Judged ToolRights::judge(const Question &question) const {
    auto ask = [&](const std::string &address) {
        Request request = request_of(question, address);
        return Judged{request, rules_->policy.decide(request)};
    };
    Judged judged = ask(question.origin.from);
    if (judged.decision.allowed && !question.origin.by.empty()) {
        if (Judged by = ask(question.origin.by); !by.decision.allowed)
            return by;
    }
    return judged;
}

void ToolRights::read_rules() {
    worker_.emplace(loop_);
    worker_->run([settings = settings_] { return Result<OwnRules>(read_own_rules(settings)); },
                 [this](Result<OwnRules> read) {
                     rules_.emplace(); // nothing is allowed
                     if (!read)
                         return log_.error("the rules for tools cannot be read: {}", read.failure().text);
                     for (const auto &each : read->wrong)
                         log_.error("tools: {}", each);
                     rules_ = std::move(*read);
                 });
}

// Without the groups, a rule that refuses one of them would be passed over.
void ToolRights::look_up(uid_t user) {
    if (askers_.size() >= most_askers)
        std::erase_if(askers_, [](const auto &other) { return other.second.again != TimePoint::max(); });
    askers_[user].again = TimePoint::max();
    worker_->run([user] { return find_account(user); },
                 [this, user](Result<Account> account) {
                     askers_[user] = {account ? Result<Person>(std::move(account->person)) : account.failure(),
                                      loop_.now() + (account ? account_lasts : failure_lasts)};
                 });
}

std::optional<Decision> ToolRights::decide(const Question &question) {
    if (!std::exchange(reading_, true))
        read_rules();
    if (auto asker = question.origin.asker) {
        auto found = askers_.find(*asker);
        if (found == askers_.end() || loop_.now() >= found->second.again)
            look_up(*asker);
        const auto &person = askers_.at(*asker).person;
        if (!person)
            return std::nullopt;
        if (!*person)
            return Decision{false, {person->failure().text, "the system's users"}, {}};
    }
    return rules_ ? std::optional(judge(question).decision) : std::nullopt;
}

bool ToolRights::may(const Question &question) {
    auto found = decide(question);
    if (!found)
        return false;
    if (auto missed = lines_.admit(loop_.now())) {
        Request request = judge(question).request;
        std::string line = log_line(request, *found) + not_logged(*missed);
        if (found->allowed)
            log_.info("{}", line);
        else
            log_.warning("{}", line);
    }
    return found->allowed;
}

} // namespace pmixhost
