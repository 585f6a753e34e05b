// See tool_rights.h.
#include "server-glue/tool_access/tool_rights.h"

#include "common/policy/accounts.h"

#include <utility>

namespace pmixhost {

using namespace policy;

// Groups change.
static constexpr Duration account_lasts = std::chrono::hours(1);
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

// What hangs has its thread for itself, a few times.
SlowCalls &ToolRights::calls() {
    if (!calls_)
        calls_.emplace(loop_, most_askers, SlowCalls::Threads{1, 4});
    return *calls_;
}

void ToolRights::read_rules() {
    reading_ = true;
    calls().run_alone(
        loop_.now() + times_.patience,
        [reader = reader_, settings = settings_] { return Result<OwnRules>(reader(settings)); },
        [this](Result<OwnRules> read) {
            reading_ = false;
            use(std::move(read));
        });
}

void ToolRights::use(Result<OwnRules> read) {
    failed_ = !read || read->look_up_failed;
    read_at_ = failed_ ? loop_.now() + times_.again : TimePoint::max();
    std::vector<std::string> wrong;
    if (read) {
        wrong = read->wrong;
        rules_ = std::move(*read);
    } else {
        std::string why = read.failure().kind == ErrorKind::timeout
                              ? fmt::format("the rules for tools are still being read after {} s: a directory service, "
                                            "or the file system of the user's rules, does not answer",
                                            std::chrono::duration_cast<std::chrono::seconds>(times_.patience).count())
                              : "the rules for tools cannot be read: " + read.failure().text;
        rules_.emplace();
        rules_->policy = Policy::closed({why, "tools.policy"});
        wrong.push_back(std::move(why));
    }
    if (wrong == wrong_)
        return; // the log has it
    if (wrong.empty())
        log_.warning("the rules for tools are right by now");
    for (const auto &each : wrong)
        log_.error("tools: {}", each);
    wrong_ = std::move(wrong);
}

// Without the groups, a rule that refuses one of them would be passed over.
void ToolRights::look_up(uid_t user) {
    if (askers_.size() >= most_askers)
        std::erase_if(askers_, [](const auto &other) { return other.second.again != TimePoint::max(); });
    askers_[user].again = TimePoint::max();
    calls().run_alone(
        loop_.now() + times_.patience, [user] { return find_account(user); },
        [this, user](Result<Account> account) {
            askers_[user] = {account ? Result<Person>(std::move(account->person)) : account.failure(),
                             loop_.now() + (account ? account_lasts : times_.again)};
        });
}

std::optional<Decision> ToolRights::decide(const Question &question) {
    if (!reading_ && loop_.now() >= read_at_)
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
    // Who comes when they are read again is judged by what they are then.
    return rules_ && !(reading_ && failed_) ? std::optional(judge(question).decision) : std::nullopt;
}

// As RateLimit::admit().
std::optional<std::size_t> ToolRights::admit_line(const Question &question) {
    auto missed = lines_.admit({question.origin, question.pid, question.action}, loop_.now());
    if (!missed)
        return std::nullopt;
    not_logged_ += *missed;
    auto of_all = all_lines_.admit(loop_.now());
    return of_all ? std::optional(*of_all + std::exchange(not_logged_, 0)) : std::nullopt;
}

bool ToolRights::may(const Question &question) {
    auto found = decide(question);
    if (!found)
        return false;
    const LogLevel level = found->allowed ? LogLevel::info : LogLevel::warning;
    if (auto missed = log_.is_file() || log_.enabled(level) ? admit_line(question) : std::nullopt)
        log_.write(level, log_line(judge(question).request, *found) + not_logged(*missed));
    return found->allowed;
}

} // namespace pmixhost
